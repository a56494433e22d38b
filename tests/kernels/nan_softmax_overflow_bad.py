# A softmax that does not subtract the maximum: exp gives inf, and inf / inf NaN.
# CHECKS: nan
# EXPECT: nan-born program=0,0,0 lane=23 tensor=out_ptr element=23 count=9
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    e = tl.exp(x)
    tl.store(out_ptr + i, e / tl.sum(e, axis=0))  # <-- nan-born


x, out = torch.arange(32) * 4.0, torch.zeros(32)
kernel[(1,)](x, out, BLOCK=32)
