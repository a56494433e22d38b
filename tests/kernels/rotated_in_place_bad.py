# Rows are rotated in place: a warp may store before another one has loaded its neighbours.
# CHECKS: tsan
# EXPECT: race-warp-order severity=warning tensor=x_ptr program=0,0,0
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = x_ptr + tl.program_id(0) * BLOCK
    x = tl.load(row + (i + BLOCK // 2) % BLOCK)  # <-- race-warp-order
    tl.store(row + i, x)  # <-- race-warp-order


kernel[(2,)](torch.rand(2, 256), BLOCK=256)
