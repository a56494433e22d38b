# E[x^2] - E[x]^2 is kept above 0.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    mean = tl.sum(x, axis=0) / BLOCK
    variance = tl.sum(x * x, axis=0) / BLOCK - mean * mean
    tl.store(out_ptr, tl.sqrt(tl.maximum(variance, 0.0)))


x, out = torch.tensor([3000.3, 3000.3, 3000.3, 3000.4] * 4), torch.zeros(1)
kernel[(1,)](x, out, BLOCK=16)
