# Counts the neighbours of cells, in unrolled loops: those of the same row and of the rows beside it.
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
                near = (row + dy >= 0) & (row + dy < H)
                inside = mask & near & (columns + dx >= 0) & (columns + dx < W)
                alive += tl.load(cells_ptr + at, mask=inside, other=0)
    tl.store(out_ptr + row * W + columns, alive, mask=mask)


cells = (torch.rand(8, 12) < 0.5).to(torch.int32)
kernel[(8,)](cells, torch.empty_like(cells), 8, 12, BLOCK=16)
