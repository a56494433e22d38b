# Two inputs of different lengths: the bias is loaded under the mask of its own.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, bias_ptr, out_ptr, n, bias_n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    bias = tl.load(bias_ptr + offsets, mask=offsets < bias_n, other=0.0)
    tl.store(out_ptr + offsets, x + bias, mask=offsets < n)


x, bias = torch.rand(100), torch.rand(80)
out = torch.empty(100)
kernel[(2,)](x, bias, out, 100, 80, BLOCK=64)
