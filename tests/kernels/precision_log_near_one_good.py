# log(1 + x) of a small x by the function that is made for it.
# CHECKS: precision
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    y = libdevice.log1p(x)
    tl.store(out_ptr + i, y)


x, out = 1e-4 * torch.rand(64), torch.zeros(64)
kernel[(1,)](x, out, BLOCK=64)
