# Two programs hold one lock each and give it back before they take the other's.
import torch
import triton
import triton.language as tl


@triton.jit
def take(lock_ptr):
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass


@triton.jit
def kernel(lock_ptr, ready_ptr):
    mine = tl.program_id(0)
    other = 1 - mine
    take(lock_ptr + mine)
    tl.atomic_add(ready_ptr, 1)
    while tl.atomic_add(ready_ptr, 0) < 2:
        pass
    tl.atomic_xchg(lock_ptr + mine, 0)
    take(lock_ptr + other)
    tl.atomic_xchg(lock_ptr + other, 0)


lock, ready = torch.zeros(2, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
kernel[(2,)](lock, ready)
