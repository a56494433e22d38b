# The strides of a matrix that is not square are passed in the right order.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, stride_m, stride_n, M: tl.constexpr, N: tl.constexpr):
    m = tl.arange(0, M)[:, None]
    n = tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + m * stride_m + n * stride_n)
    tl.store(out_ptr + m * N + n, x)


x = torch.rand(16, 64)
out = torch.empty(16, 64)
kernel[(1,)](x, out, x.stride(0), x.stride(1), M=16, N=64)
