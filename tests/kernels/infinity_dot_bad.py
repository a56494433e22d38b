# Exponentials of a row overflow, and a dot spreads them.
# CHECKS: nan
# EXPECT: infinity-born program=0,0,0 lane=48 tensor=out_ptr count=16
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(a_ptr, b_ptr, out_ptr, SIZE: tl.constexpr):
    i = tl.arange(0, SIZE)
    at = i[:, None] * SIZE + i[None, :]
    a = tl.load(a_ptr + at)
    p = tl.exp(a)  # <-- infinity-born
    tl.store(out_ptr + at, tl.dot(p, tl.load(b_ptr + at)))


a, b, out = torch.zeros(16, 16), torch.ones(16, 16), torch.zeros(16, 16)
a[3] = 100.0
kernel[(1,)](a, b, out, SIZE=16)
