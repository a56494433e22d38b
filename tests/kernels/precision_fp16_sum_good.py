# A running sum over a row in fp32, cast once.
# CHECKS: precision
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, COLUMNS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for column in range(COLUMNS):
        total += tl.load(x_ptr + i * COLUMNS + column)
    tl.store(out_ptr + i, total)


x, out = torch.rand(64, 256).half(), torch.zeros(64, dtype=torch.float16)
kernel[(2,)](x, out, COLUMNS=256, BLOCK=32)
