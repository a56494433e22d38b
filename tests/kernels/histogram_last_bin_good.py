# A histogram over [0, 1] with 10 bins: the value 1.0 falls into the last bin.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, counts_ptr, BINS: tl.constexpr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    bins = (x * BINS).to(tl.int32)
    bins = tl.minimum(bins, BINS - 1)
    tl.atomic_add(counts_ptr + bins, 1)


x = torch.tensor([0.0, 0.25, 0.5, 1.0, 0.75, 0.125, 0.05, 0.99])
counts = torch.zeros(10, dtype=torch.int32)
kernel[(1,)](x, counts, BINS=10, BLOCK=8)
