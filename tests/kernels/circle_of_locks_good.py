# Each program takes its lock and the one of its neighbour, the one with the lower number first.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(lock_ptr, ready_ptr, PROGRAMS: tl.constexpr):
    mine = tl.program_id(0)
    other = (mine + 1) % PROGRAMS
    tl.atomic_add(ready_ptr, 1)
    while tl.atomic_add(ready_ptr, 0) < PROGRAMS:
        pass
    while tl.atomic_xchg(lock_ptr + tl.minimum(mine, other), 1) == 1:
        pass
    while tl.atomic_xchg(lock_ptr + tl.maximum(mine, other), 1) == 1:
        pass
    tl.atomic_xchg(lock_ptr + other, 0)
    tl.atomic_xchg(lock_ptr + mine, 0)


lock, ready = torch.zeros(3, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
kernel[(3,)](lock, ready, PROGRAMS=3)
