# Rows of a sparse matrix end where the next one starts; the list of starts has one entry more
# than rows.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(start_ptr, value_ptr, out_ptr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    begin = tl.load(start_ptr + row)
    end = tl.load(start_ptr + row + 1)
    i = begin + tl.arange(0, BLOCK)
    tl.store(out_ptr + row, tl.sum(tl.load(value_ptr + i, mask=i < end, other=0.0), axis=0))


start = torch.arange(0, 33, 3, dtype=torch.int32)
value = torch.rand(30)
out = torch.empty(10)
kernel[(10,)](start, value, out, BLOCK=4)
