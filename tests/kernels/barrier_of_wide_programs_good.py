# A barrier of the grid whose programs fit beside each other, one on each multiprocessor.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, arrived_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + i, mask=i < cols, other=0.0)
    tl.atomic_add(arrived_ptr, 1)
    while tl.atomic_add(arrived_ptr, 0) < tl.num_programs(0):
        pass
    next_row = (row + 1) % tl.num_programs(0)
    y = tl.load(x_ptr + next_row * cols + i, mask=i < cols, other=0.0)
    tl.store(out_ptr + row * cols + i, x / (1 + tl.exp(y)), mask=i < cols)


x = torch.rand(130, 30000)
out, arrived = torch.empty_like(x), torch.zeros(1, dtype=torch.int32)
kernel[(130,)](x, arrived, out, 30000, BLOCK=32768, num_warps=32)
torch.testing.assert_close(out, x / (1 + x.roll(-1, 0).exp()))
