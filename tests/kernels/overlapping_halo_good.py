# Blocks of 32 every 30 elements: the two outermost elements are read for the neighbours and not
# stored.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    i = tl.program_id(0) * (BLOCK - 2) + lane
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    own = (lane > 0) & (lane < BLOCK - 1)
    tl.store(out_ptr + i, x * (1 + tl.program_id(0)), mask=own & (i < n))


x = torch.rand(122) + 1
out = torch.empty(122)
kernel[(4,)](x, out, 122, BLOCK=32)
