# A flag that is stored relaxed: whoever sees it need not see the data.
# CHECKS: tsan
# EXPECT: race-read-write tensor=data_ptr program=0,0,0 other_program=1,0,0
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(data_ptr, flag_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    if tl.program_id(0) == 0:
        tl.store(data_ptr + i, i + 7)  # <-- race-read-write
        tl.debug_barrier()
        tl.atomic_store(flag_ptr, 1, sem="relaxed")
    else:
        tl.atomic_poll(flag_ptr, 1, sem="acquire")
        tl.store(out_ptr + i, tl.load(data_ptr + i))  # <-- race-read-write


data, out = torch.zeros(32, dtype=torch.int32), torch.zeros(32, dtype=torch.int32)
flag = torch.zeros(1, dtype=torch.int32)
kernel[(2,)](data, flag, out, BLOCK=32)
