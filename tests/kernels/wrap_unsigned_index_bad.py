# An index of uint32 wraps.
# CHECKS: overflow
# EXPECT: index-wrap program=1,0,0 tensor=x_ptr element=0
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, stride):
    row = tl.program_id(0).to(tl.uint32) * 65536
    x = tl.load(x_ptr + row * stride.to(tl.uint32))  # <-- index-wrap
    tl.store(out_ptr + tl.program_id(0), x)


kernel[(2,)](torch.rand(4), torch.empty(2), 65536)
