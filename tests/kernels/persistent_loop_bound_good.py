# A few programs walk over 10 blocks; the loop ends with the last block.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, blocks, BLOCK: tl.constexpr):
    for block in range(tl.program_id(0), blocks, tl.num_programs(0)):
        offsets = block * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets)
        tl.store(out_ptr + offsets, x)


x = torch.rand(320)
out = torch.empty(320)
kernel[(5,)](x, out, 10, BLOCK=32)
