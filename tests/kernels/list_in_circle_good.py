# Walks a linked list to its end.
# CHECKS: asan
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(next_ptr, out_ptr):
    at = tl.program_id(0)
    length = 0
    while at != -1:
        at = tl.load(next_ptr + at)
        length += 1
    tl.store(out_ptr + tl.program_id(0), length)


kernel[(5,)](torch.tensor([1, 2, 3, 4, -1], dtype=torch.int32), torch.zeros(5, dtype=torch.int32))
