# Solves upper triangular systems from the last row up: the first column of a tile, i + 1, is n
# before the first step back, which is no further row.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(a_ptr, y_ptr, x_ptr, N: tl.constexpr, BLOCK: tl.constexpr):
    for i in range(N - 1, -1, -1):
        total = 0.0
        for t in range(0, tl.cdiv(N - 1 - i, BLOCK)):
            columns = (i + 1) + t * BLOCK + tl.arange(0, BLOCK)
            a = tl.load(a_ptr + i * N + columns, mask=columns < N, other=0)
            tl.debug_barrier()
            total += tl.sum(a * tl.load(x_ptr + columns, mask=columns < N, other=0), axis=0)
        x = (tl.load(y_ptr + i) - total) / tl.load(a_ptr + i * N + i)
        tl.store(x_ptr + i, x)


a, y, x = torch.rand(12, 12).triu() + torch.eye(12), torch.rand(12), torch.zeros(12)
kernel[(1,)](a, y, x, N=12, BLOCK=4)
assert torch.allclose(a @ x, y, atol=1e-3)
