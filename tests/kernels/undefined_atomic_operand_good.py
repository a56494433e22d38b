# Lanes that a load leaves out are not added.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, sum_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.atomic_add(sum_ptr + i % 4, x, mask=i < n, sem="relaxed")


x, total = torch.rand(20), torch.zeros(4)
kernel[(1,)](x, total, 20, BLOCK=32)
