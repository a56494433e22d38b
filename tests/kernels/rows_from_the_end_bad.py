# Solves upper triangular systems from the last row up: the tile begins a column early and its mask
# looks at the columns behind it, so that row 0 begins in front of its first column.
# CHECKS: rows
# EXPECT: crosses-dimension severity=warning tensor=a_ptr
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(a_ptr, y_ptr, x_ptr, N: tl.constexpr, BLOCK: tl.constexpr):
    for i in range(N - 1, -1, -1):
        columns = i - 1 + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + (i + 1) * N + columns, mask=columns < N - 1, other=0)  # <-- crosses-dimension
        tl.store(x_ptr + i, tl.sum(a, axis=0))


a, y, x = torch.rand(14, 12), torch.rand(12), torch.zeros(12)
kernel[(1,)](a, y, x, N=12, BLOCK=4)
