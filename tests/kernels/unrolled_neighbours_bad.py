# Counts the neighbours of cells, in unrolled loops: the mask keeps them in the tensor, but not in
# the row, so that the first and the last column are neighbours.
# CHECKS: rows
# EXPECT: crosses-dimension severity=warning tensor=cells_ptr count=42
# ALLOW: crosses-dimension
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(cells_ptr, out_ptr, H, W, BLOCK: tl.constexpr):
    row, columns = tl.program_id(0), tl.arange(0, BLOCK)
    mask = columns < W
    alive = tl.zeros((BLOCK,), tl.int32)
    for dy in tl.static_range(-1, 2):
        for dx in tl.static_range(-1, 2):
            if dy != 0 or dx != 0:
                at = (row + dy) * W + columns + dx
                inside = mask & (at >= 0) & (at < H * W)
                alive += tl.load(cells_ptr + at, mask=inside, other=0)  # <-- crosses-dimension
    tl.store(out_ptr + row * W + columns, alive, mask=mask)


cells = (torch.rand(8, 12) < 0.5).to(torch.int32)
kernel[(8,)](cells, torch.empty_like(cells), 8, 12, BLOCK=16)
