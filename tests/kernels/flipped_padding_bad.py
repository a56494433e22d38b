# A padded row turned around: the lanes behind its end come first, and are summed.
# CHECKS: undefined
# EXPECT: undefined-value program=0,0,0 tensor=out_ptr element=0 count=3
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + columns, mask=columns < n)
    turned = tl.flip(x, 0)
    total = tl.sum(tl.where(columns < n, turned, 0), axis=0)
    tl.store(out_ptr + row, total)  # <-- undefined-value


x, out = torch.ones(3, 100), torch.zeros(3)
kernel[(3,)](x, out, 100, BLOCK=128)
