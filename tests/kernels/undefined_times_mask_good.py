# Lanes without a value are multiplied by 0, as integers.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    x = x * (i < n).to(x_ptr.dtype.element_ty)
    tl.store(out_ptr, tl.sum(x, axis=0))


x = torch.ones(20, dtype=torch.int32)
out = torch.zeros_like(x)
kernel[(1,)](x, out, 20, BLOCK=32)
