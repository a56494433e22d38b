# Every program that ran sets the flag to 1; only the first one stores it.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, flag_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, offsets)
    tl.store(flag_ptr, 1, mask=tl.program_id(0) == 0)


x = torch.empty(64, dtype=torch.int32)
flag = torch.zeros(1, dtype=torch.int32)
kernel[(4,)](x, flag, BLOCK=16)
