# Two rows of sums and two locks; the lock is chosen by the number of the row.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, sum_ptr, lock_ptr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + pid * BLOCK + i)
    lock = lock_ptr + pid % 2
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    total = tl.load(sum_ptr + (pid % 2) * BLOCK + i) + x
    tl.store(sum_ptr + (pid % 2) * BLOCK + i, total)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


x, total = torch.rand(4, 32) + 1, torch.zeros(2, 32)
lock = torch.zeros(2, dtype=torch.int32)
kernel[(4,)](x, total, lock, BLOCK=32)
