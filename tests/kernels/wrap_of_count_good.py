# The number of elements is one of int64.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, rows, columns, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < rows.to(tl.int64) * columns
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=inside, other=0), mask=inside)


x, out = torch.rand(128), torch.zeros(128)
kernel[(2,)](x, out, 65536, 32768, BLOCK=64)
