# A launch leaves its lock taken, and the next one waits for it.
# CHECKS: tsan
# EXPECT: deadlock program=0,0,0 tensor=lock_ptr
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, sum_ptr, lock_ptr):
    x = tl.load(x_ptr + tl.program_id(0))
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:  # <-- deadlock
        pass
    total = tl.load(sum_ptr) + x
    tl.store(sum_ptr, total)
    tl.debug_barrier()
    if total < 2:  # the last one has nobody to give it to
        tl.atomic_xchg(lock_ptr, 0)


total, lock = torch.zeros(1), torch.zeros(1, dtype=torch.int32)
for _ in range(2):
    kernel[(2,)](torch.ones(2), total, lock)
