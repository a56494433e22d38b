# Split-K: two programs compute halves of one result and add them up.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, K, N: tl.constexpr, BLOCK_K: tl.constexpr):
    i = tl.arange(0, N)
    k = tl.program_id(1) * BLOCK_K + tl.arange(0, BLOCK_K)
    a = tl.load(a_ptr + i[:, None] * K + k[None, :])
    b = tl.load(b_ptr + k[:, None] * N + i[None, :])
    c = c_ptr + i[:, None] * N + i[None, :]
    tl.atomic_add(c, tl.dot(a, b))


a, b, c = torch.rand(16, 64), torch.rand(64, 16), torch.zeros(16, 16)
kernel[(1, 2)](a, b, c, 64, N=16, BLOCK_K=32)
