# A root of -1 is dropped before it is summed.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, total_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    root = tl.where(x < 0, 0.0, tl.sqrt(x))
    tl.atomic_add(total_ptr, tl.sum(root, axis=0))


x, total = torch.arange(-1.0, 31.0), torch.zeros(1)
kernel[(2,)](x, total, BLOCK=16)
