# A root of -1 goes through a sum into an atomic.
# CHECKS: nan
# EXPECT: nan-born program=0,0,0 lane=0 tensor=total_ptr element=0 count=1
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, total_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    root = tl.sqrt(x)  # <-- nan-born
    tl.atomic_add(total_ptr, tl.sum(root, axis=0))


x, total = torch.arange(-1.0, 31.0), torch.zeros(1)
kernel[(2,)](x, total, BLOCK=16)
