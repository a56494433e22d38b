"""Matrix product with int8 weights: the weights become fp16 in the kernel, one scale and zero point
per group of K.

A second kernel multiplies int8 by int8 into int32 and scales at the end.
"""

import torch
import triton
import triton.language as tl
from harness import DEVICE, Report, arguments


@triton.jit
def dequant_matmul_kernel(
    x_ptr, w_ptr, scale_ptr, zero_ptr, out_ptr, m, n, k,
    GROUP: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inside_m = rows[:, None] < m
    inside_n = columns[None, :] < n
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, k, BLOCK_K):  # GROUP is a multiple of BLOCK_K: one scale per step
        steps = start + tl.arange(0, BLOCK_K)
        x = tl.load(
            x_ptr + rows[:, None] * k + steps[None, :],
            mask=inside_m & (steps[None, :] < k),
            other=0.0,
        )
        w = tl.load(
            w_ptr + steps[:, None] * n + columns[None, :],
            mask=(steps[:, None] < k) & inside_n,
            other=0,
        )
        scale = tl.load(scale_ptr + (start // GROUP) * n + columns, mask=columns < n, other=0.0)
        zero = tl.load(zero_ptr + (start // GROUP) * n + columns, mask=columns < n, other=0)
        w16 = (w.to(tl.float16) - zero.to(tl.float16)[None, :]) * scale[None, :]
        total += tl.dot(x, w16)
    tl.store(out_ptr + rows[:, None] * n + columns[None, :], total, mask=inside_m & inside_n)


@triton.jit
def int8_matmul_kernel(
    x_ptr, w_ptr, x_scale_ptr, w_scale_ptr, out_ptr, m, n, k,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.int32)
    for start in range(0, k, BLOCK_K):
        steps = start + tl.arange(0, BLOCK_K)
        x_mask = (rows[:, None] < m) & (steps[None, :] < k)
        w_mask = (steps[:, None] < k) & (columns[None, :] < n)
        x = tl.load(x_ptr + rows[:, None] * k + steps[None, :], mask=x_mask, other=0)
        w = tl.load(w_ptr + steps[:, None] * n + columns[None, :], mask=w_mask, other=0)
        total = tl.dot(x, w, total, out_dtype=tl.int32)
    x_scale = tl.load(x_scale_ptr + rows, mask=rows < m, other=0.0)
    w_scale = tl.load(w_scale_ptr + columns, mask=columns < n, other=0.0)
    out = total.to(tl.float32) * x_scale[:, None] * w_scale[None, :]
    tl.store(
        out_ptr + rows[:, None] * n + columns[None, :],
        out,
        mask=(rows[:, None] < m) & (columns[None, :] < n),
    )


if __name__ == "__main__":
    options = arguments("int8 matrix product", 128, "rows and columns")
    report = Report("int8_matmul", options)
    m, n, k, group = max(1, options.size - 27), max(1, options.size - 5), options.size, 64
    grid = (triton.cdiv(m, 32), triton.cdiv(n, 64))
    w = torch.randint(-128, 128, (k, n), dtype=torch.int8, device=DEVICE)
    out = torch.empty(m, n, device=DEVICE)

    x = torch.randn(m, k, device=DEVICE).half()
    groups = triton.cdiv(k, group)
    scale = (torch.rand(groups, n, device=DEVICE) / 64).half()
    zero = torch.randint(-8, 8, (groups, n), dtype=torch.int8, device=DEVICE)
    dequant_matmul_kernel[grid](
        x, w, scale, zero, out, m, n, k, GROUP=group, BLOCK_M=32, BLOCK_N=64, BLOCK_K=32
    )
    which = torch.arange(k, device=DEVICE) // group
    w16 = (w.half() - zero.half()[which]) * scale[which]  # rounded to fp16 as in the kernel
    report.check("dequantised", out, x.double() @ w16.double(), 1e-5)

    x8 = torch.randint(-128, 128, (m, k), dtype=torch.int8, device=DEVICE)
    x_scale, w_scale = torch.rand(m, device=DEVICE) / 100, torch.rand(n, device=DEVICE) / 100
    out8 = torch.empty(m, n, device=DEVICE)
    int8_matmul_kernel[grid](
        x8, w, x_scale, w_scale, out8, m, n, k, BLOCK_M=32, BLOCK_N=64, BLOCK_K=32
    )
    want = x8.double() @ w.double() * x_scale.double()[:, None] * w_scale.double()[None, :]
    report.check("int8", out8, want, 1e-6)
    report.finish()
