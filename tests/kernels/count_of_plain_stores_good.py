# The last program waits for a count that atomics have raised.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(lock_ptr, count_ptr, sum_ptr, out_ptr, N: tl.constexpr):
    if tl.program_id(0) < N:
        while tl.atomic_cas(lock_ptr, 0, 1) == 1:
            pass
        tl.store(sum_ptr, tl.load(sum_ptr) + 1)
        tl.debug_barrier()
        tl.atomic_xchg(lock_ptr, 0)
        tl.atomic_add(count_ptr, 1)
    else:
        while tl.atomic_add(count_ptr, 0) != N:
            pass
        tl.store(out_ptr, tl.load(sum_ptr))


lock, count, sum, out = (torch.zeros(1, dtype=torch.int32) for _ in range(4))
kernel[(4,)](lock, count, sum, out, N=3)
assert out.item() == 3
