# A product is cut to bf16 before it is summed into an fp32 output.
# CHECKS: precision
# EXPECT: error-shares severity=note tensor=out_ptr count=1
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, w_ptr, out_ptr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * BLOCK + i)
    w = tl.load(w_ptr + i)
    product = (x * w).to(tl.bfloat16)
    total = tl.sum(product.to(tl.float32), axis=0)
    tl.store(out_ptr + row, total)  # <-- error-shares


x, w, out = torch.rand(4, 64), torch.rand(64), torch.zeros(4)
kernel[(4,)](x, w, out, BLOCK=64)
