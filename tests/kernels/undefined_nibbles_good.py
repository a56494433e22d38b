# Two nibbles are packed, and the one that has a value is kept.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(low_ptr, high_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    low = tl.load(low_ptr + i)
    high = tl.load(high_ptr + i, mask=i < n)
    packed = (high << 4) | (low & 15)
    kept = packed & 15
    tl.atomic_or(out_ptr + i, kept, sem="relaxed")


low, high = torch.arange(32, dtype=torch.int32), torch.arange(20, dtype=torch.int32)
out = torch.zeros(32, dtype=torch.int32)
kernel[(1,)](low, high, out, 20, BLOCK=32)
