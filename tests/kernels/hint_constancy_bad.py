# Groups of 3 elements share a scale, not of 4.
# CHECKS: hints
# EXPECT: false-hint program=0,0,0 lane=3 count=1
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.max_constancy(tl.arange(0, BLOCK) // 3, 4)  # <-- false-hint
    tl.store(out_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.load(x_ptr + i))


x, out = torch.ones(256), torch.zeros(32)
kernel[(1,)](x, out, BLOCK=32)
