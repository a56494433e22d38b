# One element of a row is loaded right after the row was stored: another warp may store it later.
# CHECKS: tsan
# EXPECT: race-warp-order severity=warning tensor=x_ptr element=0,77
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, target_ptr, BLOCK: tl.constexpr):
    row = x_ptr + tl.program_id(0) * BLOCK
    i = tl.arange(0, BLOCK)
    e = tl.exp(tl.load(row + i))
    tl.store(row + i, e / tl.sum(e, axis=0))  # <-- race-warp-order
    target = tl.load(target_ptr + tl.program_id(0))
    tl.store(row + target, tl.load(row + target) - 1)  # <-- race-warp-order


x, target = torch.rand(2, 128), torch.tensor([77, 3])
kernel[(2,)](x, target, BLOCK=128)
