# Rows divided by their norms, of which one is 0: then by 1.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * BLOCK + i)
    norm = tl.sqrt(tl.sum(x * x, axis=0))
    y = x / tl.where(norm == 0, 1.0, norm)
    tl.store(out_ptr + row * BLOCK + i, y)


x, out = torch.ones(4, 16), torch.zeros(4, 16)
x[1] = 0
kernel[(4,)](x, out, BLOCK=16)
