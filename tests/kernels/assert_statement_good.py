# An assert statement in a kernel: the number of elements is a whole number of blocks, which it
# is.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    assert start + BLOCK <= n, "a block is cut off"
    offsets = start + tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, offsets, mask=offsets < n)


n = 96
x = torch.empty(n, dtype=torch.int32)
kernel[(3,)](x, n, BLOCK=32)
