# A flag that one program stores and another one loads, both by atomics.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(flag_ptr, out_ptr):
    if tl.program_id(0) == 0:
        tl.atomic_store(flag_ptr, 1)
    else:
        tl.store(out_ptr, tl.atomic_load(flag_ptr))


flag, out = torch.zeros(1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
kernel[(2,)](flag, out)
