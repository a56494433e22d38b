# Bytes next to each other are written by different programs: one byte is written by two.
# CHECKS: tsan
# EXPECT: race-write-write tensor=out_ptr element=16 program=0,0,0 other_program=1,0,0
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(out_ptr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    mask = i < 17
    tl.store(out_ptr + pid * 16 + i, (i + 32 * pid).to(tl.int8), mask=mask)  # <-- race-write-write


out = torch.zeros(48, dtype=torch.int8)
kernel[(2,)](out, BLOCK=32)
