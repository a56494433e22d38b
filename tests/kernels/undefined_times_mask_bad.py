# Lanes without a value are multiplied by 0.0: NaN is not 0 then.
# CHECKS: undefined
# EXPECT: undefined-value program=0,0,0 tensor=out_ptr element=0
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    x = x * (i < n).to(x_ptr.dtype.element_ty)
    tl.store(out_ptr, tl.sum(x, axis=0))  # <-- undefined-value


x = torch.ones(20)
out = torch.zeros_like(x)
kernel[(1,)](x, out, 20, BLOCK=32)
