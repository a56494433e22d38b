# Rows are rotated in place: by one program with a barrier, by one whose lanes store what they
# loaded themselves, and by one whose sum brings the warps together.
import torch
import triton
import triton.language as tl


@triton.jit
def with_barrier(x_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = x_ptr + tl.program_id(0) * BLOCK
    x = tl.load(row + (i + BLOCK // 2) % BLOCK)
    tl.debug_barrier()
    tl.store(row + i, x)


@triton.jit
def by_halves(x_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK // 2)
    row = x_ptr + tl.program_id(0) * BLOCK
    left = tl.load(row + i)
    right = tl.load(row + BLOCK // 2 + i)
    tl.store(row + i, right)
    tl.store(row + BLOCK // 2 + i, left)


@triton.jit
def with_sum(x_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = x_ptr + tl.program_id(0) * BLOCK
    x = tl.load(row + (i + BLOCK // 2) % BLOCK)
    tl.store(row + i, x / tl.sum(x, axis=0))


for kernel in (with_barrier, by_halves, with_sum):
    kernel[(2,)](torch.rand(2, 256) + 1, BLOCK=256)
