# The second launch finds the flag that the first one has set, so program 1 does not wait.
# CHECKS: tsan
# EXPECT: race-read-write program=1,0,0 other_program=0,0,0 tensor=data_ptr count=32
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(data_ptr, flag_ptr, out_ptr, round, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    if tl.program_id(0) == 0:
        tl.store(data_ptr + i, i + round)  # <-- race-read-write
        tl.debug_barrier()
        tl.atomic_xchg(flag_ptr, 1, sem="release")
    else:
        while tl.atomic_add(flag_ptr, 0, sem="acquire") != 1:
            pass
        tl.store(out_ptr + i, tl.load(data_ptr + i))  # <-- race-read-write


data, out = torch.zeros(32, dtype=torch.int32), torch.zeros(32, dtype=torch.int32)
flag = torch.zeros(1, dtype=torch.int32)
for round in range(2):
    kernel[(2,)](data, flag, out, round, BLOCK=32)
