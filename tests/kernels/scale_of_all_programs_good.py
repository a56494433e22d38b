# One program writes the scale.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, sum_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0)
    tl.store(out_ptr + i, x + 1, mask=i < n)
    if tl.program_id(0) == 0:
        tl.store(sum_ptr, 0.5)


x, out, scale = torch.ones(256), torch.empty(256), torch.zeros(4)
kernel[(2,)](x, scale, out, 256, BLOCK=128)
