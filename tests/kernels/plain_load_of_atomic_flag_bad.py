# A flag that one program stores by an atomic, and another one loads plainly.
# CHECKS: tsan
# EXPECT: race-read-write tensor=flag_ptr program=0,0,0 other_program=1,0,0
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(flag_ptr, out_ptr):
    if tl.program_id(0) == 0:
        tl.atomic_store(flag_ptr, 1)  # <-- race-read-write
    else:
        tl.store(out_ptr, tl.load(flag_ptr))  # <-- race-read-write


flag, out = torch.zeros(1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
kernel[(2,)](flag, out)
