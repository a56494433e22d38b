# The flag is reset before each launch.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(data_ptr, flag_ptr, out_ptr, round, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    if tl.program_id(0) == 0:
        tl.store(data_ptr + i, i + round)
        tl.debug_barrier()
        tl.atomic_xchg(flag_ptr, 1, sem="release")
    else:
        while tl.atomic_add(flag_ptr, 0, sem="acquire") != 1:
            pass
        tl.store(out_ptr + i, tl.load(data_ptr + i))


data, out = torch.zeros(32, dtype=torch.int32), torch.zeros(32, dtype=torch.int32)
flag = torch.zeros(1, dtype=torch.int32)
for round in range(2):
    flag.zero_()
    kernel[(2,)](data, flag, out, round, BLOCK=32)
