# The mask says <.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x, mask=mask)


x = torch.rand(1000)
out = torch.empty_like(x)
kernel[(triton.cdiv(1000, 128),)](x, out, 1000, BLOCK=128)
