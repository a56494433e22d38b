# Columns of up to 5 rows are summed from their ends, and their largest is taken, padding left out by
# flags; the flag of the last row is set in the row behind it, so that its sums begin in the padding.
# CHECKS: undefined
# EXPECT: undefined-value tensor=sums_ptr element=0,0 count=30
import torch
import triton
import triton.language as tl


@triton.jit
def restart(x1, end1, x2, end2):
    return tl.where(end2 != 0, x2, x1 + x2), end1 | end2


@triton.jit
def larger(x1, live1, x2, live2):
    first = live1 & ((live2 == 0) | (x1 > x2))
    return tl.where(first, x1, x2), live1 | live2


@triton.jit
def kernel(x_ptr, sums_ptr, top_ptr, rows, columns, R: tl.constexpr, C: tl.constexpr):
    r, c = tl.arange(0, R)[:, None], tl.arange(0, C)[None, :]
    inside = (r < rows) & (c < columns)
    x = tl.load(x_ptr + r * columns + c, mask=inside)
    end = (r >= rows).to(tl.int32) + 0 * c
    sums, _ = tl.associative_scan((x, end), 0, restart, reverse=True)
    tl.store(sums_ptr + r * columns + c, sums, mask=inside)  # <-- undefined-value
    top, any_live = tl.reduce((x, inside), 0, larger)
    if tl.max(any_live.to(tl.int32), axis=0) != 0:
        tl.store(top_ptr + tl.arange(0, C), top, mask=tl.arange(0, C) < columns)


x, sums, top = torch.rand(5, 6), torch.empty(5, 6), torch.empty(6)
kernel[(1,)](x, sums, top, 5, 6, R=8, C=8)
print(sums[0], top.max())
