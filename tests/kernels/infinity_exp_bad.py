# softplus as log(1 + exp(x)), with large x.
# CHECKS: nan
# EXPECT: infinity-born program=0,0,0 lane=23 tensor=out_ptr element=23 count=9
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    e = 1 + tl.exp(x)  # <-- infinity-born
    tl.store(out_ptr + i, tl.log(e))


x, out = torch.arange(32) * 4.0, torch.zeros(32)
kernel[(1,)](x, out, BLOCK=32)
