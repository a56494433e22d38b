# Bits of a mask in an int64.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(word_ptr, out_ptr):
    i = tl.arange(0, 64)
    bit = (tl.load(word_ptr) >> i) & 1
    tl.store(out_ptr + i, bit)


kernel[(1,)](torch.tensor([5], dtype=torch.int64), torch.empty(64, dtype=torch.int32))
