# An assumption that a stride does not keep.
# CHECKS: hints
# EXPECT: false-hint program=0,0,0 count=1
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, stride, BLOCK: tl.constexpr):
    tl.assume(stride % 8 == 0)  # <-- false-hint
    i = tl.arange(0, BLOCK) * stride
    tl.store(out_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.load(x_ptr + i))


x, out = torch.ones(256), torch.zeros(32)
kernel[(1,)](x, out, 7, BLOCK=32)
