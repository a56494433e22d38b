"""Softmax of every row of a matrix: a row is one block, a few programs walk over all rows."""

import torch
import triton
import triton.language as tl
from harness import DEVICE, Report, arguments


@triton.jit
def softmax_kernel(out_ptr, x_ptr, out_stride, x_stride, rows, cols, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    inside = columns < cols
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0)):
        x = tl.load(x_ptr + row * x_stride + columns, mask=inside, other=-float("inf"))
        exponentials = tl.exp(x - tl.max(x, axis=0))
        total = tl.sum(exponentials, axis=0)
        tl.store(out_ptr + row * out_stride + columns, exponentials / total, mask=inside)


def softmax(x, programs=8):
    rows, cols = x.shape
    out = torch.empty_like(x)
    softmax_kernel[(min(programs, rows),)](
        out, x, out.stride(0), x.stride(0), rows, cols, BLOCK=triton.next_power_of_2(cols)
    )
    return out


if __name__ == "__main__":
    options = arguments("softmax over rows", 32768, "columns of the widest matrix")
    report = Report("softmax", options)
    for rows, cols in (
        (37, min(781, options.size)),
        (16, min(1024, options.size)),
        (5, options.size),
    ):
        label = f"{rows}x{cols}"
        if report.wants(label):
            x = torch.randn(rows, cols, device=DEVICE) * 4
            report.check(label, softmax(x), torch.softmax(x.double(), dim=1), 1e-6)
    if report.wants("strided"):
        x = torch.randn(9, 300, device=DEVICE)[:, :200]  # rows of a wider matrix
        report.check("strided", softmax(x), torch.softmax(x.double(), dim=1), 1e-6)
    report.finish()
