# The mask comes from the size of the output, which is the shorter one.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x, mask=mask)


x = torch.rand(320)
out = torch.empty(200)
n = out.numel()
kernel[(triton.cdiv(n, 64),)](x, out, n, BLOCK=64)
