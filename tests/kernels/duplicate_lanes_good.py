# Lanes are folded onto 8 elements: which of the values stays is decided by a mask.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    tl.store(out_ptr + i % 8, x, mask=i >= BLOCK - 8)


x = torch.arange(32, dtype=torch.float32)
out = torch.empty(8)
kernel[(1,)](x, out, BLOCK=32)
