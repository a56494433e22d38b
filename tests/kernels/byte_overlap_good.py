# Bytes next to each other are written by different programs: none is written by two.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(out_ptr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    mask = i < 16
    tl.store(out_ptr + pid * 16 + i, (i + 32 * pid).to(tl.int8), mask=mask)


out = torch.zeros(48, dtype=torch.int8)
kernel[(2,)](out, BLOCK=32)
