# The sum is set to zero by program 0, while others add to it.
# CHECKS: tsan
# EXPECT: race-write-write tensor=out_ptr element=0
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    if pid == 0:
        tl.store(out_ptr, 0.0)  # <-- race-write-write
    x = tl.load(x_ptr + pid * BLOCK + tl.arange(0, BLOCK))
    tl.atomic_add(out_ptr, tl.sum(x, axis=0))  # <-- race-write-write


x = torch.ones(128)
out = torch.zeros(1)
kernel[(4,)](x, out, BLOCK=32)
