# A lock is released on every way.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, sum_ptr, lock_ptr):
    x = tl.load(x_ptr + tl.program_id(0))
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    if x > 0:
        tl.store(sum_ptr, tl.load(sum_ptr) + x)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


x = torch.tensor([0.0, 0.0, 0.0, 0.0])
total, lock = torch.zeros(1), torch.zeros(1, dtype=torch.int32)
kernel[(4,)](x, total, lock)
