# Counts are added into memory of torch.empty.
# CHECKS: undefined
# EXPECT: undefined-value program=0,0,0 tensor=counts_ptr element=0
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, counts_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0)
    tl.atomic_add(counts_ptr + x, 1, mask=i < n, sem="relaxed")  # <-- undefined-value


x = torch.arange(100, dtype=torch.int32) % 8
counts = torch.empty(8, dtype=torch.int32)
kernel[(4,)](x, counts, 100, BLOCK=32)
