# Elements in a row are contiguous.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, stride, BLOCK: tl.constexpr):
    i = tl.max_contiguous(tl.arange(0, BLOCK) * stride, 4)
    tl.store(out_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.load(x_ptr + i))


x, out = torch.ones(256), torch.zeros(32)
kernel[(1,)](x, out, 1, BLOCK=32)
