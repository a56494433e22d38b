# Quantised without a limit: 200 is no int8.
# CHECKS: arith
# EXPECT: float-to-int program=0,0,0 lane=2
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, scale, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i) * scale
    tl.store(out_ptr + i, x.to(tl.int8))  # <-- float-to-int


x = torch.tensor([1.0, -12.0, 20.0, 3.0])
kernel[(1,)](x, torch.empty(4, dtype=torch.int8), 10.0, BLOCK=4)
