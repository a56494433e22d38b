# Row 40000 of a matrix with rows of 60000 bytes: the product is made in 64 bits.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * 40000
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + columns)
    tl.store(out_ptr + tl.program_id(0) * BLOCK + columns, x)


x = torch.empty(40001, 60000, dtype=torch.int8)  # 2.4 GB of addresses; only the pages read exist
x[0, :16], x[40000, :16] = 1, 2
out = torch.empty(2, 16, dtype=torch.int8)
kernel[(2,)](x, out, x.stride(0), BLOCK=16)
