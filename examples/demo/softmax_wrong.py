"""Softmax over rows of 50, each padded to a block of 64: the load lacks its mask."""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < cols
    x = tl.load(x_ptr + row * cols + columns)
    weights = tl.exp(x - tl.max(x, axis=0))
    out = weights / tl.sum(weights, axis=0)
    tl.store(out_ptr + row * cols + columns, out, mask=inside)


torch.manual_seed(0)
x = torch.randn(24, 50)
out = torch.empty_like(x)
softmax_kernel[(24,)](x, out, 50, BLOCK=64)
error = (out - torch.softmax(x, dim=1)).abs().max().item()
print(f"softmax of 24 x 50: {'ok' if error < 1e-6 else 'WRONG'}, max error {error:.1e}")
