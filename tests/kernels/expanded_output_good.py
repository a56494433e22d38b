# The output is a vector of 64.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, stride, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i * stride, tl.load(x_ptr + i))


x = torch.arange(64, dtype=torch.float32)
out = torch.zeros(64)
kernel[(1,)](x, out, out.stride(0), BLOCK=64)
