# A row of 100 elements in a block of 128, summed: the other lanes are 0.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + columns, mask=columns < n, other=0)
    total = tl.sum(x, axis=0)
    tl.store(out_ptr + row, total)


x, out = torch.ones(3, 100), torch.zeros(3)
kernel[(3,)](x, out, 100, BLOCK=128)
