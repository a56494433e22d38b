# A histogram over [0, 1] with 10 bins: the value 1.0 falls into bin 10.
# CHECKS: asan
# EXPECT: oob-atomic program=0,0,0 lane=3 tensor=counts_ptr element=10 count=1
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, counts_ptr, BINS: tl.constexpr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    bins = (x * BINS).to(tl.int32)
    tl.atomic_add(counts_ptr + bins, 1)  # <-- oob-atomic


x = torch.tensor([0.0, 0.25, 0.5, 1.0, 0.75, 0.125, 0.05, 0.99])
counts = torch.zeros(10, dtype=torch.int32)
kernel[(1,)](x, counts, BINS=10, BLOCK=8)
