# The argument is the first 40 elements of a buffer of 1000: masked.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, x, mask=offsets < n)


pool = torch.rand(1000)
x = pool[:40]
out = torch.empty(40)
kernel[(3,)](x, out, 40, BLOCK=16)
