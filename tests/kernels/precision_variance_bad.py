# The variance of numbers far from 0 as the difference of two large means.
# CHECKS: precision
# EXPECT: cancellation severity=warning program=1,0,0 tensor=out_ptr
# ALLOW: error-shares
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * BLOCK + tl.arange(0, BLOCK))
    mean = tl.sum(x, axis=0) / BLOCK
    mean_of_squares = tl.sum(x * x, axis=0) / BLOCK
    variance = mean_of_squares - mean * mean  # <-- cancellation
    tl.store(out_ptr + row, variance)  # <-- error-shares


x, out = 100 + torch.rand(2, 128), torch.zeros(2)
kernel[(2,)](x, out, BLOCK=128)
