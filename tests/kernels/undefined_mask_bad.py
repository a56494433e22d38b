# What to keep is loaded under a mask, and masks a store alone.
# CHECKS: undefined
# EXPECT: undefined-value program=1,0,0 lane=8
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(keep_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.load(keep_ptr + i, mask=i < n)
    tl.store(out_ptr + i, i, mask=keep > 0)  # <-- undefined-value


keep = torch.arange(40, dtype=torch.int32) % 2
out = torch.zeros(64, dtype=torch.int32)
kernel[(2,)](keep, out, 40, BLOCK=32)
