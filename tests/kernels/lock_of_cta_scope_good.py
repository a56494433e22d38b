# A lock whose atomics have scope 'gpu'.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, sum_ptr, lock_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + i)
    while tl.atomic_cas(lock_ptr, 0, 1, sem="acquire", scope="gpu") == 1:
        pass
    total = tl.load(sum_ptr + i) + x
    tl.store(sum_ptr + i, total)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0, sem="release", scope="gpu")


x, total = torch.rand(6, 32) + 1, torch.zeros(32)
lock = torch.zeros(1, dtype=torch.int32)
kernel[(6,)](x, total, lock, BLOCK=32)
