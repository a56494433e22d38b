# One kernel writes a table of addresses, the next one stores through it; one tensor is in it twice.
# CHECKS: tsan
# EXPECT: race-write-write program=0,0,0 other_program=1,0,0
import torch
import triton
import triton.language as tl


@triton.jit
def build(table_ptr, x_ptr, y_ptr):
    tl.store(table_ptr, x_ptr.to(tl.int64))
    tl.store(table_ptr + 1, x_ptr.to(tl.int64))


@triton.jit
def kernel(table_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    part = tl.load(table_ptr + tl.program_id(0)).to(tl.pointer_type(tl.int32))
    tl.store(part + i, i + tl.program_id(0))  # <-- race-write-write


x, y = torch.zeros(16, dtype=torch.int32), torch.zeros(16, dtype=torch.int32)
table = torch.zeros(2, dtype=torch.int64)
build[(1,)](table, x, y)
kernel[(2,)](table, BLOCK=16)
