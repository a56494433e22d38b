# The argument is every other element of a vector: its stride is passed.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, stride, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets * stride, mask=offsets < n)
    tl.store(out_ptr + offsets, x, mask=offsets < n)


x = torch.rand(200)[::2]
out = torch.empty(100)
kernel[(1,)](x, out, x.stride(0), 100, BLOCK=128)
