# A print shows lanes that a load leaves out.
# CHECKS: undefined
# EXPECT: undefined-value severity=warning program=0,0,0 lane=3
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.device_print("x", x)  # <-- undefined-value


kernel[(1,)](torch.arange(3), 3, BLOCK=4)
