# A batch of which every second matrix is passed: the batch step is the stride.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, batch_stride, size, BLOCK: tl.constexpr):
    batch = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + batch * batch_stride + offsets)
    tl.store(out_ptr + batch * size + offsets, x)


x = torch.rand(8, 8, 16)[::2]
out = torch.empty(4, 8, 16)
kernel[(4,)](x, out, x.stride(0), 128, BLOCK=128)
