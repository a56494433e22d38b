# Every other column of a matrix goes to a kernel that takes no strides, as a copy.
import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x * 2, mask=mask)


x = torch.ones(8, 96)[:, ::2].contiguous()
out = torch.zeros(8, 48)
double_kernel[(3,)](x, out, x.numel(), BLOCK=128)
