# The last program sums what all have left, and waits for its own flag too, which nobody sets.
# CHECKS: asan
# EXPECT: deadlock program=3,0,0
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, part_ptr, out_ptr, flag_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    last = tl.num_programs(0) - 1
    i = pid * BLOCK + tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x_ptr + i, mask=i < n, other=0.0))
    if pid != last:
        tl.store(part_ptr + pid, total)
        tl.debug_barrier()
        tl.atomic_xchg(flag_ptr + pid, 1, sem="release")
    else:
        for p in range(last + 1):
            while tl.atomic_cas(flag_ptr + p, 1, 1, sem="acquire") != 1:  # <-- deadlock
                pass
            total += tl.load(part_ptr + p)
        tl.store(out_ptr, total)


flags = torch.zeros(4, dtype=torch.int32)
kernel[(4,)](torch.ones(100), torch.zeros(4), torch.zeros(1), flags, 100, BLOCK=32)
