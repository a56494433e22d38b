# Rows of a [6, 2, 40] tensor summed up from their ends: the second half of the rows of the block
# goes one matrix too far.
# CHECKS: rows
# EXPECT: crosses-dimension program=0,0,0 tensor=x_ptr severity=warning count=160
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, B, C, N, BLOCK: tl.constexpr):
    b = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = x_ptr + b * C * N + c * N + N
    total = tl.zeros([BLOCK], tl.float32)
    for _ in range(N):
        x -= 1
        total += tl.load(x, mask=(b + 1) * BLOCK < B * C, other=0)  # <-- crosses-dimension
    tl.store(out_ptr + b * BLOCK + c, total)


x, out = torch.ones(6, 2, 40), torch.zeros(6, 4)
kernel[(6,)](x, out, 6, 2, 40, BLOCK=4)
