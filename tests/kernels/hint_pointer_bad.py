# A pointer 4 bytes behind a multiple of 16.
# CHECKS: hints
# EXPECT: false-hint program=0,0,0 count=1
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x_ptr = tl.multiple_of(x_ptr + 1, 16)  # <-- false-hint
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.load(x_ptr + i))


x, out = torch.ones(256), torch.zeros(32)
kernel[(1,)](x, out, BLOCK=32)
