# A maximum over lanes that a load leaves out.
# CHECKS: undefined
# EXPECT: undefined-value program=0,0,0 tensor=out_ptr element=0 count=2
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + i, mask=i < n)
    best = tl.argmax(x, axis=0)
    tl.store(out_ptr + row, best)  # <-- undefined-value


x, out = torch.rand(2, 20), torch.zeros(2, dtype=torch.int32)
kernel[(2,)](x, out, 20, BLOCK=32)
