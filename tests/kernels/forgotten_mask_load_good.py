# The tail of the last block is masked.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, x * 2, mask=offsets < n)


x = torch.arange(1000, dtype=torch.float32)
out = torch.empty_like(x)
kernel[(4,)](x, out, 1000, BLOCK=256)
