# The mask lets whole blocks of rows through, so the last block of a head stores into the first rows
# of the next one.
# CHECKS: rows
# EXPECT: crosses-dimension tensor=out_ptr element=0,1,0,0
# ALLOW: oob-store
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, heads, rows, s_b, s_h, s_m, M: tl.constexpr, D: tl.constexpr):
    batch, head = tl.program_id(1) // heads, tl.program_id(1) % heads
    m = tl.program_id(0) * M + tl.arange(0, M)
    d = tl.arange(0, D)
    at = batch * s_b + head * s_h + m[:, None] * s_m + d[None, :]
    mask = m[:, None] < tl.cdiv(rows, M) * M
    x = tl.load(x_ptr + at, mask=m[:, None] < rows, other=0)
    tl.store(out_ptr + at, 2 * x, mask=mask)  # <-- crosses-dimension oob-store


x, out = torch.rand(2, 3, 50, 16), torch.empty(2, 3, 50, 16)
kernel[(4, 6)](x, out, 3, 50, *x.stride()[:3], M=16, D=16)
