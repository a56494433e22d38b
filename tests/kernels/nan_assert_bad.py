# An assert that NaN passes.
# CHECKS: nan
# EXPECT: nan-born program=0,0,0 lane=0 count=2
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    y = tl.log2(x + 0.5)  # <-- nan-born
    tl.device_assert((y > 10) == (x > 2000) | (i < 0))
    tl.store(out_ptr + i, x)


x, out = torch.arange(16.0) - 2, torch.zeros(16)
kernel[(1,)](x, out, BLOCK=16)
