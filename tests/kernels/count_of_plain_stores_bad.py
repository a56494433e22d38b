# The last program waits for a count that plain stores under a lock have raised: they release nothing
# to who reads the count without the lock.
# CHECKS: tsan
# EXPECT: race-read-write program=3,0,0 tensor=sum_ptr
# EXPECT: race-read-write program=3,0,0 tensor=count_ptr
# EXPECT: race-write-write program=3,0,0 tensor=count_ptr
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(lock_ptr, count_ptr, sum_ptr, out_ptr, N: tl.constexpr):
    if tl.program_id(0) < N:
        while tl.atomic_cas(lock_ptr, 0, 1) == 1:
            pass
        tl.store(sum_ptr, tl.load(sum_ptr) + 1)  # <-- race-read-write
        tl.store(count_ptr, tl.load(count_ptr) + 1)  # <-- race-read-write race-write-write
        tl.atomic_xchg(lock_ptr, 0)
    else:
        while tl.atomic_cas(count_ptr, N, N) != N:  # <-- race-read-write race-write-write
            pass
        tl.store(out_ptr, tl.load(sum_ptr))  # <-- race-read-write


lock, count, sum, out = (torch.zeros(1, dtype=torch.int32) for _ in range(4))
kernel[(4,)](lock, count, sum, out, N=3)
