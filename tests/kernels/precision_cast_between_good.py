# A product is summed in fp32 as it is.
# CHECKS: precision
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, w_ptr, out_ptr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * BLOCK + i)
    w = tl.load(w_ptr + i)
    product = x * w
    total = tl.sum(product, axis=0)
    tl.store(out_ptr + row, total)


x, w, out = torch.rand(4, 64), torch.rand(64), torch.zeros(4)
kernel[(4,)](x, w, out, BLOCK=64)
