# Each program stores its partial sum into a cell of its own.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    x = tl.load(x_ptr + pid * BLOCK + tl.arange(0, BLOCK))
    tl.store(out_ptr + pid, tl.sum(x, axis=0))


x = torch.arange(128, dtype=torch.float32)
out = torch.zeros(4)
kernel[(4,)](x, out, BLOCK=32)
