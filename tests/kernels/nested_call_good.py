# The load is in a function that two callers share; one caller passes the size.
import torch
import triton
import triton.language as tl


@triton.jit
def load_row(ptr, offsets, limit):
    return tl.load(ptr + offsets, mask=offsets < limit, other=0.0)


@triton.jit
def kernel(x_ptr, y_ptr, out_ptr, n, padded, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = load_row(y_ptr, offsets, n)
    x = load_row(x_ptr, offsets, n)
    tl.store(out_ptr + offsets, x + y, mask=offsets < n)


x, y, out = torch.rand(100), torch.rand(100), torch.empty(100)
kernel[(2,)](x, y, out, 100, 128, BLOCK=64)
