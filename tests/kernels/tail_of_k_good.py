# A product with K = 100 in steps of 32: the last step is masked for both.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, K, N: tl.constexpr, BLOCK_K: tl.constexpr):
    m = tl.arange(0, N)
    total = tl.zeros((N, N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + m[:, None] * K + k[None, :], mask=k[None, :] < K, other=0.0)
        b = tl.load(b_ptr + k[:, None] * N + m[None, :], mask=k[:, None] < K, other=0.0)
        total += tl.dot(a, b)
    tl.store(c_ptr + m[:, None] * N + m[None, :], total)


a, b, c = torch.rand(16, 100), torch.rand(100, 16), torch.empty(16, 16)
kernel[(1,)](a, b, c, 100, N=16, BLOCK_K=32)
