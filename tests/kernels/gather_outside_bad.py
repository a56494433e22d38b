# The neighbour of the last element lies outside of the block.
# CHECKS: asan
# EXPECT: device-assert lane=31
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    neighbours = tl.gather(tl.load(x_ptr + i), i + 1, 0)  # <-- device-assert
    tl.store(out_ptr + i, neighbours)


kernel[(1,)](torch.arange(32.0), torch.zeros(32), BLOCK=32)
