# A block is computed, stored before anything is loaded, and read in another order, with a barrier between.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(temp_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(temp_ptr + i, i * 0.5)
    tl.debug_barrier()
    tl.store(out_ptr + i, tl.load(temp_ptr + BLOCK - 1 - i))


temp, out = torch.zeros(256), torch.zeros(256)
kernel[(1,)](temp, out, BLOCK=256)
