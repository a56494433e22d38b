# Sums of segments are added by load and store; an atomic beside them only counts.
# CHECKS: tsan
# EXPECT: race-write-write tensor=sums_ptr
# ALLOW: race-read-write race-same-value
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, segments_ptr, sums_ptr, count_ptr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    x = tl.sum(tl.load(x_ptr + pid * BLOCK + tl.arange(0, BLOCK)))
    at = sums_ptr + tl.load(segments_ptr + pid)
    tl.store(at, tl.load(at) + x)  # <-- race-write-write race-read-write
    tl.atomic_add(count_ptr, 1)


x, segments = torch.arange(64.0), torch.tensor([0, 1, 0, 1], dtype=torch.int32)
sums, count = torch.zeros(2), torch.zeros(1, dtype=torch.int32)
kernel[(4,)](x, segments, sums, count, BLOCK=16)
