# A half-precision tensor read through a pointer to float.
# CHECKS: asan
# EXPECT: oob-load program=0,0,0 lane=32 tensor=x_ptr count=32
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr.to(tl.pointer_type(tl.float32)) + i)  # <-- oob-load
    tl.store(out_ptr + i, x.to(tl.float32))


x = torch.rand(64).half()
out = torch.empty(64)
kernel[(1,)](x, out, BLOCK=64)
