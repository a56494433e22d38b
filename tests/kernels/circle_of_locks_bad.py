# Each program has a lock and takes the one of its neighbour.
# CHECKS: tsan
# EXPECT: deadlock program=0,0,0 tensor=lock_ptr element=1
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(lock_ptr, ready_ptr, PROGRAMS: tl.constexpr):
    mine = tl.program_id(0)
    other = (mine + 1) % PROGRAMS
    while tl.atomic_xchg(lock_ptr + mine, 1) == 1:
        pass
    tl.atomic_add(ready_ptr, 1)
    while tl.atomic_add(ready_ptr, 0) < PROGRAMS:
        pass
    while tl.atomic_xchg(lock_ptr + other, 1) == 1:  # <-- deadlock
        pass
    tl.atomic_xchg(lock_ptr + other, 0)
    tl.atomic_xchg(lock_ptr + mine, 0)


lock, ready = torch.zeros(3, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
kernel[(3,)](lock, ready, PROGRAMS=3)
