# The same division in int64.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, by, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i).to(tl.int64) // by)


x = torch.tensor([4, -(2**31)], dtype=torch.int32)
kernel[(1,)](x, torch.empty(2, dtype=torch.int64), -1, BLOCK=2)
