# A print shows lanes that have a value.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0)
    tl.device_print("x", x)


kernel[(1,)](torch.arange(3), 3, BLOCK=4)
