# Lanes behind the end are left out by the mask of the histogram, whatever their value is.
# CHECKS: asan
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, counts_ptr, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=-1)
    counts = tl.histogram(x, BINS, mask=i < n)
    tl.store(counts_ptr + tl.arange(0, BINS), counts)


x = torch.arange(60, dtype=torch.int32) % 16
counts = torch.empty(16, dtype=torch.int32)
kernel[(1,)](x, counts, 60, BLOCK=64, BINS=16)
print(counts.sum())
