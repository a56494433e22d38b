# Two rows divided by their norms, turned around: the norm of the second is 0.
# CHECKS: nan
# EXPECT: nan-born program=1,0,0 count=64
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * BLOCK + columns)
    y = x / tl.sqrt(tl.sum(x * x, axis=0))  # <-- nan-born
    tl.store(out_ptr + row * BLOCK + columns, tl.flip(y, 0))


x, out = torch.ones(2, 64), torch.zeros(2, 64)
x[1] = 0
kernel[(2,)](x, out, BLOCK=64)
