# Lanes are folded onto 8 elements: which of the values stays is left open.
# CHECKS: tsan
# EXPECT: duplicate-store program=0,0,0 tensor=out_ptr
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    tl.store(out_ptr + i % 8, x)  # <-- duplicate-store


x = torch.arange(32, dtype=torch.float32)
out = torch.empty(8)
kernel[(1,)](x, out, BLOCK=32)
