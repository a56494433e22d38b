# The program that counts last adds up all parts; the counter is acq_rel.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, part_ptr, counter_ptr, out_ptr, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    x = tl.load(x_ptr + pid * BLOCK + tl.arange(0, BLOCK))
    tl.store(part_ptr + pid, tl.sum(x, axis=0))
    tl.debug_barrier()
    before = tl.atomic_add(counter_ptr, 1, sem="acq_rel")
    if before == PROGRAMS - 1:
        parts = tl.load(part_ptr + tl.arange(0, PROGRAMS))
        tl.store(out_ptr, tl.sum(parts, axis=0))


x, part = torch.rand(128), torch.zeros(4)
counter, out = torch.zeros(1, dtype=torch.int32), torch.zeros(1)
kernel[(4,)](x, part, counter, out, PROGRAMS=4, BLOCK=32)
