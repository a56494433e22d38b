# The index of a row wraps and comes to lie inside the tensor: only the result shows it.
# CHECKS: overflow
# EXPECT: index-wrap program=0,0,0 tensor=x_ptr element=0,0 count=2
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, first, stride):
    row = first + tl.program_id(0)
    x = tl.load(x_ptr + row * stride)  # <-- index-wrap
    tl.store(out_ptr + tl.program_id(0), x)


# a part of a large tensor, from row 65536 on
x, out = torch.rand(2, 65536), torch.empty(2)
kernel[(2,)](x, out, 65536, 65536)
