# Rows are scattered to places that come from memory; two programs get different places.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(place_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    place = tl.load(place_ptr + i)
    tl.store(out_ptr + place, i)


place = torch.tensor([3, 5, 0, 1, 7, 2, 4, 6], dtype=torch.int32)
out = torch.full((8,), -1, dtype=torch.int32)
kernel[(2,)](place, out, BLOCK=4)
