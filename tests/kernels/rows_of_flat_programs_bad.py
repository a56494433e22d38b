# Programs are counted through all cells of a table, and each reads the cell on its right too: the
# last one of a row reads the first one of the next row.
# CHECKS: rows
# EXPECT: crosses-dimension severity=warning program=4,0,0 tensor=x_ptr element=1,0
# ALLOW: oob-load
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, W):
    cell = tl.program_id(0)
    row = cell // W
    column = cell - row * W
    x = tl.load(x_ptr + row * W + column)
    right = tl.load(x_ptr + row * W + (column + 1))  # <-- crosses-dimension oob-load
    tl.store(out_ptr + row * W + column, x + right)


x, out = torch.rand(7, 5), torch.empty(7, 5)
kernel[(35,)](x, out, 5)
