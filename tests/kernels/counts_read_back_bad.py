# A program counts by atomics, and reads its counts with no barrier between.
# CHECKS: tsan
# EXPECT: race-warp-order severity=warning tensor=bins_ptr program=0,0,0
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, bins_ptr, out_ptr, BLOCK: tl.constexpr, BINS: tl.constexpr):
    row = tl.program_id(0)
    bins = bins_ptr + row * BINS + tl.arange(0, BINS)
    x = tl.load(x_ptr + row * BLOCK + tl.arange(0, BLOCK))
    tl.atomic_add(bins_ptr + row * BINS + x, 1)  # <-- race-warp-order
    counts = tl.load(bins)  # <-- race-warp-order
    tl.store(out_ptr + row * BINS + tl.arange(0, BINS), counts / BLOCK)


x, bins = torch.arange(512, dtype=torch.int32).view(2, 256) * 7 % 64, torch.zeros(2, 64).int()
kernel[(2,)](x, bins, torch.zeros(2, 64), BLOCK=256, BINS=64)
