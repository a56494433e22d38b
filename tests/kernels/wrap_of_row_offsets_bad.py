# Rows times their stride, in int32: negative from the third row on.
# CHECKS: overflow
# EXPECT: index-wrap program=0,0,0 lane=2 tensor=x_ptr count=2
# ALLOW: oob-load
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, stride, n, ROWS: tl.constexpr):
    rows = tl.arange(0, ROWS)
    x = tl.load(x_ptr + rows * stride, mask=rows != 1)  # <-- index-wrap oob-load
    tl.store(out_ptr + rows, x, mask=rows != 1)


kernel[(1,)](torch.rand(4, 8), torch.empty(4), 1_200_000_000, 4, ROWS=4)
