# A block is stored and loaded again in another order, with a barrier between.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, temp_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(temp_ptr + i, tl.load(x_ptr + i))
    tl.debug_barrier()
    tl.store(out_ptr + i, tl.load(temp_ptr + BLOCK - 1 - i))


x, temp, out = torch.rand(256), torch.zeros(256), torch.zeros(256)
kernel[(1,)](x, temp, out, BLOCK=256)
