# A flat program number is taken apart with the number of columns of blocks: some tiles are done
# twice, others never.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, cols, BLOCKS_M: tl.constexpr, BLOCKS_N: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    block_m = pid // BLOCKS_N
    block_n = pid % BLOCKS_N
    m = block_m * BLOCK + tl.arange(0, BLOCK)
    n = block_n * BLOCK + tl.arange(0, BLOCK)
    offsets = m[:, None] * cols + n[None, :]
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets) * 2)


x = torch.rand(32, 64)
out = torch.empty(32, 64)
kernel[(8,)](x, out, 64, BLOCKS_M=2, BLOCKS_N=4, BLOCK=16)
