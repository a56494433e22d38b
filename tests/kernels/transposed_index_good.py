# A transpose that multiplies by the rows of the result.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    m = tl.arange(0, BLOCK_M)[:, None]
    n = tl.arange(0, BLOCK_N)[None, :]
    mask = (m < M) & (n < N)
    x = tl.load(x_ptr + m * N + n, mask=mask)
    tl.store(out_ptr + n * M + m, x, mask=mask)


x = torch.rand(48, 16)
out = torch.empty(16, 48)
kernel[(1,)](x, out, 48, 16, BLOCK_M=64, BLOCK_N=16)
