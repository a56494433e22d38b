# The number of elements wraps, so that the mask drops all of them.
# CHECKS: overflow
# EXPECT: integer-wrap severity=warning program=0,0,0
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, rows, columns, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < rows * columns  # <-- integer-wrap
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=inside, other=0), mask=inside)


x, out = torch.rand(128), torch.zeros(128)  # the beginning of 65536 rows
kernel[(2,)](x, out, 65536, 32768, BLOCK=64)
