# A program waits for a flag while it has the lock that the flag's program needs.
# CHECKS: tsan
# EXPECT: deadlock program=0,0,0 tensor=ready_ptr
# EXPECT: deadlock program=1,0,0 tensor=lock_ptr
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, sum_ptr, lock_ptr, ready_ptr):
    pid = tl.program_id(0)
    x = tl.load(x_ptr + pid)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:  # <-- deadlock
        pass
    if pid == 0:
        while tl.atomic_add(ready_ptr, 0) == 0:  # <-- deadlock
            pass
    tl.store(sum_ptr, tl.load(sum_ptr) + x)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)
    if pid == 1:
        tl.atomic_xchg(ready_ptr, 1)


x = torch.tensor([1.0, 2.0])
lock, ready = torch.zeros(1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
kernel[(2,)](x, torch.zeros(1), lock, ready)
