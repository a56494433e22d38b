# Rows are scattered to places that come from memory; two programs get the same place.
# CHECKS: tsan
# EXPECT: race-write-write tensor=out_ptr element=5 program=0,0,0 other_program=1,0,0
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(place_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    place = tl.load(place_ptr + i)
    tl.store(out_ptr + place, i)  # <-- race-write-write


place = torch.tensor([3, 5, 0, 1, 7, 2, 4, 5], dtype=torch.int32)
out = torch.full((8,), -1, dtype=torch.int32)
kernel[(2,)](place, out, BLOCK=4)
