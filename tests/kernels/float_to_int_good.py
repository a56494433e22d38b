# Quantised between -128 and 127.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, scale, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.clamp(tl.load(x_ptr + i) * scale, -128.0, 127.0)
    tl.store(out_ptr + i, x.to(tl.int8))


x = torch.tensor([1.0, -12.0, 20.0, 3.0])
kernel[(1,)](x, torch.empty(4, dtype=torch.int8), 10.0, BLOCK=4)
