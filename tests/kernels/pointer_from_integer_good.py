# A pointer made from an integer, 4 elements into its tensor: the mask knows that 12 are left.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    middle = (x_ptr.to(tl.int64) + 16).to(tl.pointer_type(tl.float32))
    tl.store(out_ptr + i, tl.load(middle + i, mask=i < 12, other=0.0))


x = torch.rand(16)
out = torch.empty(16)
kernel[(1,)](x, out, BLOCK=16)
