"""Root-mean-square normalisation, two rows of a block at a time, fused with adding a residual in
place.
"""

import torch
import triton
import triton.language as tl
from harness import DEVICE, Report, arguments


@triton.jit
def rms_norm_kernel(
    x_ptr,
    residual_ptr,
    weight_ptr,
    out_ptr,
    rows,
    cols,
    eps,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    inside = (row < rows) & (column < cols)
    offsets = row * cols + column
    x = tl.load(x_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
    x += tl.load(residual_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
    tl.store(residual_ptr + offsets, x.to(residual_ptr.dtype.element_ty), mask=inside)
    mean_square = tl.sum(x * x, axis=1, keep_dims=True) / cols
    weight = tl.load(weight_ptr + column, mask=column < cols, other=0.0).to(tl.float32)
    out = x * tl.rsqrt(mean_square + eps) * weight
    tl.store(out_ptr + offsets, out.to(out_ptr.dtype.element_ty), mask=inside)


def rms_norm(x, residual, weight, eps=1e-6, rows_per_program=2):
    """Returns the normalised sum of x and residual; residual becomes that sum."""
    rows, cols = x.shape
    out = torch.empty_like(x)
    rms_norm_kernel[(triton.cdiv(rows, rows_per_program),)](
        x,
        residual,
        weight,
        out,
        rows,
        cols,
        eps,
        ROWS=rows_per_program,
        BLOCK=triton.next_power_of_2(cols),
    )
    return out


if __name__ == "__main__":
    options = arguments("root-mean-square normalisation", 900, "columns")
    report = Report("rms_norm", options)
    for label, dtype, tolerance in (("fp32", torch.float32, 1e-6), ("bf16", torch.bfloat16, 8e-3)):
        if report.wants(label):
            x = torch.randn(33, options.size, device=DEVICE).to(dtype)
            residual = torch.randn(33, options.size, device=DEVICE).to(dtype)
            weight = torch.rand(options.size, device=DEVICE).to(dtype)
            total = x.double() + residual.double()
            want = (
                total * (total.square().mean(dim=1, keepdim=True) + 1e-6).rsqrt() * weight.double()
            )
            report.check(label, rms_norm(x, residual, weight), want, tolerance)
            report.check(label + " residual", residual, total, tolerance)
    report.finish()
