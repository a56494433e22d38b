# The same loop with a step, and one that is never entered.
import torch
import triton
import triton.language as tl


@triton.jit
def count(out_ptr, n, STEP: tl.constexpr):
    i = 0
    while i < n:
        i += STEP
    tl.store(out_ptr, 100)


out = torch.zeros(2, dtype=torch.int32)
count[(1,)](out, 5, STEP=1)
count[(1,)](out[1:], 0, STEP=0)
assert out.tolist() == [100, 100]
