# A triangular matrix times another one: each part has the rows from its first column on, and their
# sum asks for no others.
import torch
import triton
import triton.language as tl


@triton.jit
def products(x_ptr, y_ptr, part_ptr, n, B: tl.constexpr):
    part, i = tl.program_id(0), tl.arange(0, B)
    y = tl.load(y_ptr + (part * B + i)[:, None] * B + i[None, :])
    for block in range(part, n // B):
        rows = (block * B + i)[:, None]
        x = tl.load(x_ptr + rows * n + (part * B + i)[None, :])
        tl.store(part_ptr + (part * n + rows) * B + i[None, :], tl.dot(x, y))


@triton.jit
def total(part_ptr, out_ptr, n, B: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, B)
    sum = tl.zeros([B], tl.float32)
    for part in range(row // B + 1):
        sum += tl.load(part_ptr + (part * n + row) * B + i)
    tl.store(out_ptr + row * B + i, sum)


n = 48
x, y = torch.rand(n, n).tril(), torch.rand(n, 16)
parts, out = torch.empty(3, n, 16), torch.empty(n, 16)
products[(3,)](x, y, parts, n, B=16)
total[(n,)](parts, out, n, B=16)
assert torch.allclose(out, x @ y, rtol=1e-2)
