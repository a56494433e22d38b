# A sum of int32 is larger than int32.
# CHECKS: overflow
# EXPECT: integer-wrap severity=warning program=0,0,0
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0)
    total = tl.sum(x, axis=0)  # <-- integer-wrap
    tl.store(out_ptr, total)


x = torch.full((20,), 1_000_000_000, dtype=torch.int32)
kernel[(1,)](x, torch.empty(1, dtype=torch.int64), 20, BLOCK=32)
