# A pointer 16 bytes behind a multiple of 16.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x_ptr = tl.multiple_of(x_ptr + 4, 16)
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.load(x_ptr + i))


x, out = torch.ones(256), torch.zeros(32)
kernel[(1,)](x, out, BLOCK=32)
