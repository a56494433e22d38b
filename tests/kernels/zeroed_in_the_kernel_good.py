# The sum is set to zero by the host.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    x = tl.load(x_ptr + pid * BLOCK + tl.arange(0, BLOCK))
    tl.atomic_add(out_ptr, tl.sum(x, axis=0))


x = torch.ones(128)
out = torch.zeros(1)
kernel[(4,)](x, out, BLOCK=32)
