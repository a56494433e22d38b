# A flag in memory of torch.empty decides a branch.
# CHECKS: undefined
# EXPECT: undefined-value program=0,0,0
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, flag_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    flag = tl.load(flag_ptr)
    if flag > 0:  # <-- undefined-value
        tl.store(x_ptr + i, tl.load(x_ptr + i) * 2)


x, flag = torch.rand(32), torch.empty(1, dtype=torch.int32)
kernel[(1,)](x, flag, BLOCK=32)
