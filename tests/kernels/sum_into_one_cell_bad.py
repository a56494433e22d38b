# Each program stores its partial sum into the same cell.
# CHECKS: tsan
# EXPECT: race-write-write tensor=out_ptr element=0
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    x = tl.load(x_ptr + pid * BLOCK + tl.arange(0, BLOCK))
    tl.store(out_ptr, tl.sum(x, axis=0))  # <-- race-write-write


x = torch.arange(128, dtype=torch.float32)
out = torch.zeros(4)
kernel[(4,)](x, out, BLOCK=32)
