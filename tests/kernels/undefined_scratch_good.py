# The second launch sums what the first one wrote.
import torch
import triton
import triton.language as tl


@triton.jit
def first(x_ptr, scratch_ptr, stride, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + i, mask=i < n)
    tl.store(scratch_ptr + row * stride + i, x * x, mask=i < n)


@triton.jit
def second(scratch_ptr, sum_ptr, stride, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    squares = tl.load(scratch_ptr + row * stride + i, mask=i < n, other=0)
    total = tl.sum(squares, axis=0)
    tl.store(sum_ptr + row, total)


x = torch.rand(4, 50)
scratch, total = torch.empty(4, 64), torch.empty(4)
first[(4,)](x, scratch, 64, 50, BLOCK=64)
second[(4,)](scratch, total, 64, 50, BLOCK=64)
