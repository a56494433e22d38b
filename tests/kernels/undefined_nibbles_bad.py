# Two nibbles are packed, and the wrong one of them is kept.
# CHECKS: undefined
# EXPECT: undefined-value program=0,0,0 lane=20
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(low_ptr, high_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    low = tl.load(low_ptr + i)
    high = tl.load(high_ptr + i, mask=i < n)
    packed = (high << 4) | (low & 15)
    kept = (packed >> 4) & 15
    tl.atomic_or(out_ptr + i, kept, sem="relaxed")  # <-- undefined-value


low, high = torch.arange(32, dtype=torch.int32), torch.arange(20, dtype=torch.int32)
out = torch.zeros(32, dtype=torch.int32)
kernel[(1,)](low, high, out, 20, BLOCK=32)
