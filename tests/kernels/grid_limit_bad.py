# Right in this grid; with 42950 rows the index wraps.
# CHECKS: overflow
# EXPECT: grid-limit severity=note
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, stride, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + i, mask=i < n, other=0)  # <-- grid-limit
    tl.store(out_ptr + row, tl.sum(x, axis=0))


x = torch.rand(2, 50_000)
kernel[(2,)](x, torch.empty(2), x.stride(0), 50, BLOCK=64)
