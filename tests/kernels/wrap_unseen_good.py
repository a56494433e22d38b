# The same table, of which the row is counted in int64, and is one that there is.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(table_ptr, out_ptr, row, stride, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    values = tl.load(table_ptr + row.to(tl.int64) * stride + i)
    tl.store(out_ptr + i, values)


table = torch.zeros(1 << 20, dtype=torch.int8)
out = torch.empty(32, dtype=torch.int8)
kernel[(1,)](table, out, 15, 65536, BLOCK=32)
