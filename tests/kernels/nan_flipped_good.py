# Two rows divided by their norms, turned around: a norm of 0 is taken for a tiny one.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * BLOCK + columns)
    y = x / tl.maximum(tl.sqrt(tl.sum(x * x, axis=0)), 1e-12)
    tl.store(out_ptr + row * BLOCK + columns, tl.flip(y, 0))


x, out = torch.ones(2, 64), torch.zeros(2, 64)
x[1] = 0
kernel[(2,)](x, out, BLOCK=64)
