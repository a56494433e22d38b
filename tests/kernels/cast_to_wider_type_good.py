# A half-precision tensor read as what it is.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    tl.store(out_ptr + i, x.to(tl.float32))


x = torch.rand(64).half()
out = torch.empty(64)
kernel[(1,)](x, out, BLOCK=64)
