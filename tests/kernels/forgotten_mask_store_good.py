# The tail of the last block is masked.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0)
    tl.store(out_ptr + offsets, x + 1, mask=offsets < n)


x = torch.arange(300, dtype=torch.int32)
out = torch.empty_like(x)
kernel[(2,)](x, out, 300, BLOCK=256)
