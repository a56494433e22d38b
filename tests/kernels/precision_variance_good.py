# The variance of numbers far from 0 as the mean of squared differences.
# CHECKS: precision
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * BLOCK + tl.arange(0, BLOCK))
    mean = tl.sum(x, axis=0) / BLOCK
    centred = x - mean
    variance = tl.sum(centred * centred, axis=0) / BLOCK
    tl.store(out_ptr + row, variance)


x, out = 100 + torch.rand(2, 128), torch.zeros(2)
kernel[(2,)](x, out, BLOCK=128)
