# The left neighbour of all elements but the first, by an index that has no sign.
# CHECKS: asan
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)).to(tl.uint32)
    left = tl.load(x_ptr + (i - 1), mask=(i > 0) & (i < n), other=0.0)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(out_ptr + i, x - left, mask=i < n)


kernel[(2,)](torch.arange(100.0), torch.empty(100), 100, BLOCK=64)
