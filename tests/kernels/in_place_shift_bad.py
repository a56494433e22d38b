# A shift by one to the left, in place: a program reads the first element of the next one's block.
# CHECKS: tsan
# EXPECT: race-read-write tensor=x_ptr element=32
# EXPECT: race-warp-order severity=warning tensor=x_ptr
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i + 1, mask=i + 1 < n, other=0.0)  # <-- race-read-write race-warp-order
    tl.store(x_ptr + i, x, mask=i < n)  # <-- race-read-write race-warp-order


x = torch.rand(64)
out = torch.empty(64)
kernel[(2,)](x, out, 64, BLOCK=32)
