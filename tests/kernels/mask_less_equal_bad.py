# The mask says <= where < is meant: one element too many.
# CHECKS: asan
# EXPECT: oob-load program=7,0,0 lane=104 tensor=x_ptr element=1000 count=1
# EXPECT: oob-store program=7,0,0 lane=104 tensor=out_ptr element=1000 count=1
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets <= n
    x = tl.load(x_ptr + offsets, mask=mask)  # <-- oob-load
    tl.store(out_ptr + offsets, x, mask=mask)  # <-- oob-store


x = torch.rand(1000)
out = torch.empty_like(x)
kernel[(triton.cdiv(1000, 128),)](x, out, 1000, BLOCK=128)
