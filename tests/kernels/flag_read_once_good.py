# The consumer reads the flag once, and does something else when it is not up yet.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, part_ptr, flag_ptr, seen_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    if tl.program_id(0) == 0:
        tl.store(part_ptr + i, tl.load(x_ptr + i) * 2)
        tl.debug_barrier()
        tl.atomic_xchg(flag_ptr, 1, sem="release")
    else:
        seen = tl.atomic_add(flag_ptr, 0, sem="acquire")
        tl.store(seen_ptr, seen)
        if seen != 0:
            tl.store(out_ptr + i, tl.load(part_ptr + i))
        else:
            tl.store(out_ptr + i, tl.load(x_ptr + i) * 2)


x, part, out = torch.rand(64) + 1, torch.zeros(64), torch.zeros(64)
flag, seen = torch.zeros(1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
kernel[(2,)](x, part, flag, seen, out, BLOCK=64)
