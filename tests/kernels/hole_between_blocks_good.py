# Blocks lie behind one another.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    i = start + tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + i, mask=mask)
    tl.store(out_ptr + i, 2 * x, mask=mask)


x, out = torch.ones(1000), torch.empty(1000)
kernel[(triton.cdiv(1000, 128),)](x, out, 1000, BLOCK=128)
