# Rows of 48 elements begin at multiples of 16.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, stride, BLOCK: tl.constexpr):
    i = tl.multiple_of(tl.program_id(0) * stride + tl.arange(0, BLOCK), 16)
    tl.store(out_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.load(x_ptr + i))


x, out = torch.ones(256), torch.zeros(128)
kernel[(4,)](x, out, 48, BLOCK=32)
