# One program for each row along axis 1, of which a GPU takes 65535 at most.
# CHECKS: asan,tsan
# EXPECT: grid-too-large
import torch
import triton
import triton.language as tl


@triton.jit  # <-- grid-too-large
def kernel(out_ptr):
    tl.store(out_ptr + tl.program_id(1), 1.0)


out = torch.empty(65536)
kernel[(1, 65536)](out)
