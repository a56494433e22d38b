# A loop goes on while its index is below the end.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    start = 0
    while start < N:
        i = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * N + i, mask=i < N, other=0)
        start += BLOCK
    tl.store(out_ptr + row, tl.sum(total, axis=0))


x, out = torch.rand(2, 100), torch.zeros(2)
kernel[(2,)](x, out, 100, BLOCK=32)
