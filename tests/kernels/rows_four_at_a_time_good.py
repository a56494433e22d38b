# A program has four rows of 24 as one run of elements.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, rows, stride, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row, i = tl.program_id(0) * ROWS, tl.arange(0, BLOCK)
    mask = (i < ROWS * stride) & (row * stride + i < rows * stride)
    x = tl.load(x_ptr + row * stride + i, mask=mask, other=0)
    tl.store(out_ptr + row * stride + i, 2 * x, mask=mask)


x, out = torch.rand(10, 24), torch.empty(10, 24)
kernel[(3,)](x, out, 10, 24, ROWS=4, BLOCK=128)
