# A 2-D block whose mask covers rows and columns.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, rows, cols, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    m = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    x = tl.load(x_ptr + m * cols + n, mask=(m < rows) & (n < cols), other=0.0)
    tl.store(out_ptr + m * cols + n, x, mask=(m < rows) & (n < cols))


x = torch.rand(12, 40)
out = torch.empty(12, 40)
kernel[(2, 2)](x, out, 12, 40, BLOCK_M=8, BLOCK_N=32)
