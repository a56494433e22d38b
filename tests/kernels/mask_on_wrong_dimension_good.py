# A block of 16 x 64 over a matrix of 10 x 50: the two limits of the mask are right.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    m = tl.arange(0, BLOCK_M)
    n = tl.arange(0, BLOCK_N)
    offsets = m[:, None] * N + n[None, :]
    x = tl.load(x_ptr + offsets, mask=(m[:, None] < M) & (n[None, :] < N), other=0.0)
    tl.store(out_ptr + offsets, x, mask=(m[:, None] < M) & (n[None, :] < N))


x = torch.rand(10, 50)
out = torch.empty(10, 50)
kernel[(1,)](x, out, 10, 50, BLOCK_M=16, BLOCK_N=64)
