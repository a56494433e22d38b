# Bins of values that are all the same: divided by no 0.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, table_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    scale = tl.max(x, axis=0) - tl.min(x, axis=0)
    part = (x - tl.min(x, axis=0)) / tl.maximum(scale, 1e-20)
    tl.store(out_ptr + i, tl.load(table_ptr + (part * 8).to(tl.int32)))


x, table, out = torch.ones(16), torch.arange(9.0), torch.zeros(16)
kernel[(1,)](x, table, out, BLOCK=16)
