# A step that is 0 when the kernel is compiled: nothing is left of the loop but its condition.
# CHECKS: asan,tsan
# EXPECT: deadlock program=0,0,0
import torch
import triton
import triton.language as tl


@triton.jit
def count(out_ptr, n, STEP: tl.constexpr):
    i = 0
    while i < n:  # <-- deadlock
        i += STEP
    tl.store(out_ptr, 100)


count[(1,)](torch.zeros(1, dtype=torch.int32), 5, STEP=0)
