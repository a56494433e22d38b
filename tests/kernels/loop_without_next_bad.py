# A loop over blocks forgets to go on to the next one.
# CHECKS: asan,tsan
# EXPECT: deadlock program=0,0,0
import torch
import triton
import triton.language as tl


@triton.jit
def row_sum(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    begin = 0
    while begin < n:  # <-- deadlock
        i = begin + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * n + i, mask=i < n, other=0.0)
    tl.store(out_ptr + row, tl.sum(total))


row_sum[(2,)](torch.ones(2, 100), torch.empty(2), 100, BLOCK=64)
