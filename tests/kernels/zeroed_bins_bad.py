# A program zeroes its bins and counts into them, with no barrier between.
# CHECKS: tsan
# EXPECT: race-warp-order severity=warning tensor=bins_ptr program=0,0,0
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, bins_ptr, BLOCK: tl.constexpr, BINS: tl.constexpr):
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * BLOCK + tl.arange(0, BLOCK))
    tl.store(bins_ptr + row * BINS + tl.arange(0, BINS), 0)  # <-- race-warp-order
    tl.atomic_add(bins_ptr + row * BINS + x, 1)  # <-- race-warp-order


x, bins = torch.arange(512, dtype=torch.int32).view(2, 256) * 7 % 64, torch.ones(2, 64).int()
kernel[(2,)](x, bins, BLOCK=256, BINS=64)
