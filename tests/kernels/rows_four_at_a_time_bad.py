# A program has four rows of 24 as one run of elements; the mask lets half a row of the next program
# through.
# CHECKS: rows
# EXPECT: crosses-dimension tensor=out_ptr element=1,0
# EXPECT: crosses-dimension severity=warning tensor=x_ptr element=1,0
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, rows, stride, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row, i = tl.program_id(0) * ROWS, tl.arange(0, BLOCK)
    mask = (i < ROWS * stride + stride // 2) & (row * stride + i < rows * stride)
    x = tl.load(x_ptr + row * stride + i, mask=mask, other=0)  # <-- crosses-dimension
    tl.store(out_ptr + row * stride + i, 2 * x, mask=mask)  # <-- crosses-dimension


x, out = torch.rand(10, 24), torch.empty(10, 24)
kernel[(3,)](x, out, 10, 24, ROWS=4, BLOCK=128)
