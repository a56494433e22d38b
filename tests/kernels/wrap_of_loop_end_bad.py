# The end of a loop wraps, so that it has no iteration.
# CHECKS: overflow
# EXPECT: integer-wrap severity=warning program=0,0,0
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, rows, columns, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], tl.float32)
    for block in range(0, rows * columns // 1_000_000_000):  # <-- integer-wrap
        total += tl.load(x_ptr + block * BLOCK + tl.arange(0, BLOCK))
    tl.store(out_ptr + tl.arange(0, BLOCK), total)


kernel[(1,)](torch.rand(64), torch.empty(16), 65536, 32768, BLOCK=16)
