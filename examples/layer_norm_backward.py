"""Layer normalisation, backward: the gradients of weight and bias are summed over rows under spin
locks.

Row r adds its part to partial sum r % GROUPS, guarded by lock r % GROUPS. A second kernel adds
up the partial sums. The barrier before the release makes the block stores of all warps visible
before the lock opens.
"""

import torch
import triton
import triton.language as tl
from harness import DEVICE, Report, arguments


@triton.jit
def backward_rows_kernel(
    dx_ptr, dy_ptr, dw_part_ptr, db_part_ptr, x_ptr, weight_ptr, mean_ptr, rstd_ptr, lock_ptr,
    stride, cols, GROUPS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < cols
    x = tl.load(x_ptr + row * stride + columns, mask=inside, other=0.0)
    dy = tl.load(dy_ptr + row * stride + columns, mask=inside, other=0.0)
    weight = tl.load(weight_ptr + columns, mask=inside, other=0.0)
    mean = tl.load(mean_ptr + row)
    rstd = tl.load(rstd_ptr + row)
    normal = tl.where(inside, (x - mean) * rstd, 0.0)
    scaled = weight * dy
    along_x = tl.sum(normal * scaled, axis=0) / cols
    along_one = tl.sum(scaled, axis=0) / cols
    dx = (scaled - (normal * along_x + along_one)) * rstd
    tl.store(dx_ptr + row * stride + columns, dx, mask=inside)

    group = row % GROUPS
    lock = lock_ptr + group
    used = lock_ptr + GROUPS + group  # 0 until the first row has written its part
    dw_part = dw_part_ptr + group * cols + columns
    db_part = db_part_ptr + group * cols + columns
    dw = dy * normal
    db = dy
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(used) == 0:
        tl.store(used, 1)
    else:
        dw += tl.load(dw_part, mask=inside, other=0.0)
        db += tl.load(db_part, mask=inside, other=0.0)
    tl.store(dw_part, dw, mask=inside)
    tl.store(db_part, db, mask=inside)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def add_parts_kernel(
    dw_part_ptr, db_part_ptr, dw_ptr, db_ptr, parts, cols, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    dw = tl.zeros((ROWS, BLOCK), dtype=tl.float32)
    db = tl.zeros((ROWS, BLOCK), dtype=tl.float32)
    for start in range(0, parts, ROWS):
        rows = start + tl.arange(0, ROWS)
        inside = (rows[:, None] < parts) & (columns[None, :] < cols)
        offsets = rows[:, None] * cols + columns[None, :]
        dw += tl.load(dw_part_ptr + offsets, mask=inside, other=0.0)
        db += tl.load(db_part_ptr + offsets, mask=inside, other=0.0)
    tl.store(dw_ptr + columns, tl.sum(dw, axis=0), mask=columns < cols)
    tl.store(db_ptr + columns, tl.sum(db, axis=0), mask=columns < cols)


def layer_norm_backward(dy, x, weight, mean, rstd, groups=8):
    rows, cols = x.shape
    locks = torch.zeros(2 * groups, dtype=torch.int32, device=x.device)
    dw_part = torch.zeros((groups, cols), dtype=torch.float32, device=x.device)
    db_part = torch.zeros((groups, cols), dtype=torch.float32, device=x.device)
    dx, dw, db = torch.empty_like(x), torch.empty_like(weight), torch.empty_like(weight)
    backward_rows_kernel[(rows,)](
        dx, dy, dw_part, db_part, x, weight, mean, rstd, locks, x.stride(0), cols,
        GROUPS=groups, BLOCK=triton.next_power_of_2(cols), num_warps=4,
    )  # fmt: skip
    add_parts_kernel[(triton.cdiv(cols, 128),)](
        dw_part, db_part, dw, db, min(groups, rows), cols, ROWS=8, BLOCK=128
    )
    return dx, dw, db


if __name__ == "__main__":
    options = arguments("backward pass of layer normalisation", 600, "columns")
    report = Report("layer_norm_backward", options)
    rows, cols = 64, options.size
    x, dy = torch.randn(rows, cols, device=DEVICE), torch.randn(rows, cols, device=DEVICE)
    weight, bias = torch.rand(cols, device=DEVICE), torch.randn(cols, device=DEVICE)
    mean = x.mean(dim=1)
    rstd = (x.var(dim=1, unbiased=False) + 1e-5).rsqrt()
    dx, dw, db = layer_norm_backward(dy, x, weight, mean, rstd)

    wanted = [t.double().requires_grad_() for t in (x, weight, bias)]
    torch.nn.functional.layer_norm(wanted[0], (cols,), wanted[1], wanted[2], 1e-5).backward(
        dy.double()
    )
    report.check("dx", dx, wanted[0].grad, 1e-5)
    report.check("dw", dw, wanted[1].grad, 1e-5, order_dependent=True)
    report.check("db", db, wanted[2].grad, 1e-5, order_dependent=True)
    report.finish()
