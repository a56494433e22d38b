# Adds up two heads from each head on: of the last one, those are in the next row.
# CHECKS: rows
# EXPECT: crosses-dimension severity=warning program=2,0,0 tensor=x_ptr element=1,0,0
# ALLOW: oob-load
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, rows, D: tl.constexpr, B: tl.constexpr):
    head, heads = tl.program_id(0), tl.num_programs(0)
    row, column = tl.arange(0, B)[:, None], tl.arange(0, 2 * D)[None, :]
    for n in range(0, rows, B):
        x = tl.load(x_ptr + head * D + row * heads * D + column + n * heads * D)  # <-- crosses-dimension oob-load
        tl.store(out_ptr + n * heads + row * heads + head, tl.sum(x, axis=1, keep_dims=True))


x, out = torch.rand(64, 3, 32), torch.empty(64, 3)
kernel[(3,)](x, out, 64, D=32, B=16)
