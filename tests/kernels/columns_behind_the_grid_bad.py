# The grid has too few programs along the columns: of each row the last 44 elements are left out.
# CHECKS: outputs
# EXPECT: never-written tensor=out_ptr element=0,256 count=220
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = i < columns
    x = tl.load(x_ptr + row * stride + i, mask=mask)
    tl.store(out_ptr + row * stride + i, 2 * x, mask=mask)  # <-- never-written


x, out = torch.ones(5, 300), torch.zeros(5, 300)
kernel[(5, 4)](x, out, 300, 300, BLOCK=64)
