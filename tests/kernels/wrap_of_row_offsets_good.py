# Rows times their stride, in int64.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, stride, n, ROWS: tl.constexpr):
    rows = tl.arange(0, ROWS)
    x = tl.load(x_ptr + rows.to(tl.int64) * stride, mask=rows < 1)
    tl.store(out_ptr + rows, x, mask=rows < 1)


kernel[(1,)](torch.rand(4, 8), torch.empty(4), 1_200_000_000, 4, ROWS=4)
