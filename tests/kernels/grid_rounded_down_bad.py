# The grid is rounded down, so the last 44 elements of the output stay as they were, and nobody notices
# since the output was filled with zeros.
# CHECKS: outputs
# EXPECT: never-written tensor=out_ptr element=256 count=44
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + i, 2 * x, mask=i < n)  # <-- never-written


x, out = torch.ones(300), torch.zeros(300)
kernel[(300 // 128,)](x, out, 300, BLOCK=128)
