# The row is padded to a power of 2 without a mask, so the maximum is of the next row as well.
# CHECKS: rows
# EXPECT: crosses-dimension tensor=x_ptr element=1,0 count=140 severity=warning
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + i)  # <-- crosses-dimension
    tl.store(out_ptr + row, tl.max(x, axis=0))


x, out = torch.rand(6, 100), torch.empty(6)
kernel[(5,)](x, out, x.stride(0), 100, BLOCK=128)
