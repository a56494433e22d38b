# An index of int64 is cast to int32.
# CHECKS: overflow
# EXPECT: index-wrap program=0,0,0 tensor=x_ptr element=0
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, row, stride):
    offset = row.to(tl.int64) * stride
    index = offset.to(tl.int32)  # <-- index-wrap
    tl.store(out_ptr, tl.load(x_ptr + index))


kernel[(1,)](torch.rand(4), torch.empty(1), 65536, 65536)
