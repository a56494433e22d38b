# E[x^2] - E[x]^2 is below 0 by rounding, and its root NaN.
# CHECKS: nan
# EXPECT: nan-born program=0,0,0 tensor=out_ptr element=0 count=1
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    mean = tl.sum(x, axis=0) / BLOCK
    variance = tl.sum(x * x, axis=0) / BLOCK - mean * mean
    tl.store(out_ptr, tl.sqrt(variance))  # <-- nan-born


x, out = torch.tensor([3000.3, 3000.3, 3000.3, 3000.4] * 4), torch.zeros(1)
kernel[(1,)](x, out, BLOCK=16)
