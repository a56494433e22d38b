# Blocks begin 130 elements after one another, but have 128: two elements are left out after each.
# CHECKS: outputs
# EXPECT: never-written tensor=out_ptr element=128 count=14
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(0) * (BLOCK + 2)
    i = start + tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + i, mask=mask)
    tl.store(out_ptr + i, 2 * x, mask=mask)  # <-- never-written


x, out = torch.ones(1000), torch.empty(1000)
kernel[(triton.cdiv(1000, 128),)](x, out, 1000, BLOCK=128)
