# A flat index is taken apart, but its row is not taken away from the column.
# CHECKS: rows
# EXPECT: crosses-dimension tensor=x_ptr element=2,0 count=1400 severity=warning
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, stride, columns, count, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row = i // columns
    column = i
    x = tl.load(x_ptr + row * stride + column, mask=i < count)  # <-- crosses-dimension
    tl.store(out_ptr + i, x, mask=i < count)


x, out = torch.rand(6, 700), torch.empty(2100)
kernel[(9,)](x, out, x.stride(0), 700, 2100, BLOCK=256)
