"""Layer normalisation, forward, in one kernel: mean, then variance around it, then the affine
result.

A row may be longer than a block; it is walked three times.
"""

import torch
import triton
import triton.language as tl
from harness import DEVICE, Report, arguments


@triton.jit
def layer_norm_kernel(
    x_ptr, weight_ptr, bias_ptr, out_ptr, mean_ptr, rstd_ptr, stride, cols, eps, BLOCK: tl.constexpr
):
    row = tl.program_id(0)
    x_ptr += row * stride
    out_ptr += row * stride
    partial = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        partial += tl.load(x_ptr + columns, mask=columns < cols, other=0.0).to(tl.float32)
    mean = tl.sum(partial, axis=0) / cols
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + columns, mask=columns < cols, other=0.0).to(tl.float32)
        centred = tl.where(columns < cols, x - mean, 0.0)
        squares += centred * centred
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / cols + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    for start in range(0, cols, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        inside = columns < cols
        weight = tl.load(weight_ptr + columns, mask=inside, other=0.0)
        bias = tl.load(bias_ptr + columns, mask=inside, other=0.0)
        x = tl.load(x_ptr + columns, mask=inside, other=0.0).to(tl.float32)
        tl.store(out_ptr + columns, (x - mean) * rstd * weight + bias, mask=inside)


def layer_norm(x, weight, bias, eps=1e-5, block=1024):
    rows, cols = x.shape
    out = torch.empty_like(x)
    mean = torch.empty(rows, dtype=torch.float32, device=x.device)
    rstd = torch.empty(rows, dtype=torch.float32, device=x.device)
    layer_norm_kernel[(rows,)](
        x,
        weight,
        bias,
        out,
        mean,
        rstd,
        x.stride(0),
        cols,
        eps,
        BLOCK=min(block, triton.next_power_of_2(cols)),
    )
    return out, mean, rstd


if __name__ == "__main__":
    options = arguments("layer normalisation", 1500, "columns")
    report = Report("layer_norm", options)
    cols = options.size
    for label, dtype, tolerance in (("fp32", torch.float32, 2e-6), ("fp16", torch.float16, 1e-3)):
        if report.wants(label):
            x = (torch.randn(32, cols, device=DEVICE) * 3 + 1).to(dtype)
            weight, bias = (
                torch.rand(cols, device=DEVICE).to(dtype),
                torch.randn(cols, device=DEVICE).to(dtype),
            )
            out, mean, rstd = layer_norm(x, weight, bias)
            want = torch.nn.functional.layer_norm(
                x.double(), (cols,), weight.double(), bias.double(), 1e-5
            )
            report.check(label, out, want, tolerance)
            report.check(label + " mean", mean, x.double().mean(dim=1), 1e-5)
            variance = x.double().var(dim=1, unbiased=False)
            report.check(label + " rstd", rstd, (variance + 1e-5).rsqrt(), 1e-5)
    report.finish()
