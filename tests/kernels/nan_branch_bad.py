# A branch on a ratio that is 0 / 0.
# CHECKS: nan
# EXPECT: nan-born program=0,0,0 count=1
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, out_ptr):
    ratio = tl.load(x_ptr) / tl.load(y_ptr)  # <-- nan-born
    if ratio > 0.5:
        tl.store(out_ptr, 1)
    else:
        tl.store(out_ptr, 2)


x, y, out = torch.zeros(1), torch.zeros(1), torch.zeros(1, dtype=torch.int32)
kernel[(1,)](x, y, out)
