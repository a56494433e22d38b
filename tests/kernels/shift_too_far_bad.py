# Bits 32 to 63 of a mask in an int32.
# CHECKS: arith
# EXPECT: shift-too-far program=0,0,0 lane=32 count=32
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(word_ptr, out_ptr):
    i = tl.arange(0, 64)
    bit = (tl.load(word_ptr) >> i) & 1  # <-- shift-too-far
    tl.store(out_ptr + i, bit)


kernel[(1,)](torch.tensor([5], dtype=torch.int32), torch.empty(64, dtype=torch.int32))
