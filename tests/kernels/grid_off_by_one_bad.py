# The size is a whole number of blocks, so there is no mask; the grid has one program too many.
# CHECKS: asan
# EXPECT: oob-load program=4,0,0 lane=0 tensor=x_ptr element=256 count=64
# EXPECT: oob-store program=4,0,0 lane=0 tensor=out_ptr element=256 count=64
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)  # <-- oob-load
    tl.store(out_ptr + offsets, x)  # <-- oob-store


x = torch.rand(256)
out = torch.empty_like(x)
kernel[(256 // 64 + 1,)](x, out, BLOCK=64)
