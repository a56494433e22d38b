# log(1 + x) of a small x: the sum keeps few digits of x, and the logarithm is nothing else.
# CHECKS: precision
# EXPECT: error-growth severity=warning program=0,0,0 tensor=out_ptr
# ALLOW: error-shares
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    y = tl.log(1 + x)  # <-- error-growth
    tl.store(out_ptr + i, y)  # <-- error-shares


x, out = 1e-4 * torch.rand(64), torch.zeros(64)
kernel[(1,)](x, out, BLOCK=64)
