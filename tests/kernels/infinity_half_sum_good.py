# A sum of 100000 is clamped before it is stored as fp16.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * n + i, mask=i < n, other=0)
    total = tl.sum(x, axis=0)
    tl.store(out_ptr + tl.program_id(0), tl.minimum(total, 65504.0))


x, out = torch.full((3, 100), 500.0), torch.zeros(3, dtype=torch.float16)
x[2] = 1000.0
kernel[(3,)](x, out, 100, BLOCK=128)
