# Padding is divided as 0 / 0, and stored.
# CHECKS: nan
# EXPECT: nan-born program=1,0,0 lane=36 tensor=out_ptr element=100 count=28
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0)
    y = tl.load(y_ptr + i, mask=i < n, other=0)
    tl.store(out_ptr + i, x / y, mask=i < 128)  # <-- nan-born


x, y, out = torch.ones(100), torch.ones(100), torch.zeros(128)
kernel[(2,)](x, y, out, 100, BLOCK=64)
