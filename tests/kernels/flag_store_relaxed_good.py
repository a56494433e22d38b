# A flag that is stored with release after the data, and polled with acquire.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(data_ptr, flag_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    if tl.program_id(0) == 0:
        tl.store(data_ptr + i, i + 7)
        tl.debug_barrier()
        tl.atomic_store(flag_ptr, 1, sem="release")
    else:
        tl.atomic_poll(flag_ptr, 1, sem="acquire")
        tl.store(out_ptr + i, tl.load(data_ptr + i))


data, out = torch.zeros(32, dtype=torch.int32), torch.zeros(32, dtype=torch.int32)
flag = torch.zeros(1, dtype=torch.int32)
kernel[(2,)](data, flag, out, BLOCK=32)
