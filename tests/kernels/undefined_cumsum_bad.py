# A sum along a row, from the end: the lanes without a value come first.
# CHECKS: undefined
# EXPECT: undefined-value program=0,0,0 lane=0 tensor=out_ptr element=0 count=20
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    y = tl.cumsum(x, axis=0, reverse=True)
    tl.store(out_ptr + i, y, mask=i < n)  # <-- undefined-value


x, out = torch.rand(20), torch.empty(20)
kernel[(1,)](x, out, 20, BLOCK=32)
