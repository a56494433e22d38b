# Rows of 100 elements are doubled in rows of 128 without a mask at the store: the padding has no
# value. The host sums over it.
# CHECKS: undefined
# EXPECT: undefined-value program=0,0,0 lane=100 tensor=out_ptr element=0,100
import torch
import triton
import triton.language as tl


@triton.jit
def double(x):
    return x + x


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + columns, mask=columns < n)
    y = double(x)
    tl.store(out_ptr + row * BLOCK + columns, y)  # <-- undefined-value


x, out = torch.ones(3, 100), torch.zeros(3, 128)
kernel[(3,)](x, out, 100, BLOCK=128)
print(out.sum())
