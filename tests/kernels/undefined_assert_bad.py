# An assert looks at lanes that a load leaves out.
# CHECKS: undefined
# EXPECT: undefined-value program=0,0,0 lane=20
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.device_assert(x >= 0, "negative")  # <-- undefined-value
    tl.store(out_ptr + i, x, mask=i < n)


x, out = torch.rand(20), torch.empty(20)
kernel[(1,)](x, out, 20, BLOCK=32)
