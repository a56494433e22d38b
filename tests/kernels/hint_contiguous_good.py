# Offsets modulo 64, which is a multiple of the block.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)) % n
    i = tl.max_contiguous(tl.multiple_of(i, BLOCK), BLOCK)
    tl.store(out_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.load(x_ptr + i))


x, out = torch.ones(256), torch.zeros(64)
kernel[(2,)](x, out, 64, BLOCK=32)
