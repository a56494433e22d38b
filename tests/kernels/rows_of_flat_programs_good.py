# Programs are counted through all cells of a batch of tables: row and column of a cell are what is
# left when quotients are taken away, by one division and by two.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, H, W):
    cell = tl.program_id(0)
    batch = cell // (H * W)
    left = cell - batch * H * W
    row = left // W
    column = left - row * W
    x = tl.load(x_ptr + (batch * H + row) * W + column)
    has_right = column + 1 < W
    right = tl.load(x_ptr + (batch * H + row) * W + column + 1, mask=has_right, other=0)
    line = cell // W
    place = (cell - line * W) * 2
    tl.store(out_ptr + line * 2 * W + place, x)
    tl.store(out_ptr + line * 2 * W + place + 1, right)


x, out = torch.rand(3, 7, 5), torch.empty(21, 5, 2)
kernel[(105,)](x, out, 7, 5)
assert torch.equal(out[..., 0], x.view(21, 5))
assert torch.equal(out[:, :-1, 1], x.view(21, 5)[:, 1:])
