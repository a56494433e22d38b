# Rows are on grid axis 0 and columns on axis 1; the kernel takes them the other way round.
# CHECKS: asan
# EXPECT: oob-load program=0,2,0 lane=0 tensor=x_ptr
# ALLOW: oob-store
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(1)
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + columns)  # <-- oob-load
    tl.store(out_ptr + row * cols + columns, x)  # <-- oob-store


x = torch.rand(2, 64)
out = torch.empty(2, 64)
kernel[(2, 4)](x, out, 64, BLOCK=16)
