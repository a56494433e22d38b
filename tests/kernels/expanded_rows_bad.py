# The output is one row expanded to 4; every program writes its own row.
# CHECKS: tsan
# EXPECT: race-write-write tensor=out_ptr
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(out_ptr, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + row * stride + i, i * 10 + row)  # <-- race-write-write


out = torch.zeros(1, 32, dtype=torch.int32).expand(4, 32)
kernel[(4,)](out, out.stride(0), BLOCK=32)
