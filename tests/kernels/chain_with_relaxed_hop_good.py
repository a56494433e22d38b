# Program 0 releases to 1, and 1 to 2; the middle hop acquires and releases.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(data_ptr, flag_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    pid = tl.program_id(0)
    if pid == 0:
        tl.store(data_ptr + i, i + 7)
        tl.debug_barrier()
        tl.atomic_xchg(flag_ptr, 1, sem="release")
    elif pid == 1:
        while tl.atomic_add(flag_ptr, 0, sem="acquire") == 0:
            pass
        tl.atomic_xchg(flag_ptr + 1, 1, sem="release")
    else:
        while tl.atomic_add(flag_ptr + 1, 0, sem="acquire") == 0:
            pass
        tl.store(out_ptr + i, tl.load(data_ptr + i))


data, out = torch.zeros(32, dtype=torch.int32), torch.zeros(32, dtype=torch.int32)
flag = torch.zeros(2, dtype=torch.int32)
kernel[(3,)](data, flag, out, BLOCK=32)
