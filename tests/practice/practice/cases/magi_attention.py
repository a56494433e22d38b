"""MagiAttention: rows of ranges filled, gathered, and reduced by sums, means and log-sum-exps."""

from __future__ import annotations

from typing import Any

import torch

from practice import torch_math as tm
from practice.case import Repository


def _triton_dtype(dtype: torch.dtype) -> Any:
    import triton.language as tl

    return {torch.float32: tl.float32, torch.float64: tl.float64}[dtype]


UTILS = dict(
    is_blackwell=lambda: False,
    is_fp_dtype_at_least=lambda *_: True,
    max_fp_dtype=lambda a, b: a if a.itemsize > b.itemsize else b,
    to_triton_dtype=_triton_dtype,
)
repository = Repository(
    "SandAI-org/MagiAttention",
    "2c6413571c2cac6a80d1f85a434c6713fe0f5286",
    packages={"magi_attention": "."},
    stand_ins={"magi_attention.utils": UTILS, "magi_attention.common.ranges": {}, "magi_attention.common.enum": {}},
)  # fmt: skip
OPS = "magi_attention/common/range_op/"
RANGES = [[3, 17], [20, 21], [40, 66]]
MANY = [[64 * i, 64 * i + 40 + i % 20] for i in range(1000)]


def _rows(ranges):
    return torch.cat([torch.arange(a, b) for a, b in ranges])


@repository.case(f"{OPS}_range_fill.py", "range_fill_kernel", small=dict(ranges=RANGES, n=(70, 3, 300)), production=dict(ranges=MANY, n=(64000, 8, 128)))  # fmt: skip
def fill(file, device, ranges, n):
    x = tm.normal(*n, device=device)

    def want():
        y = x.clone()
        y[_rows(ranges).to(device)] = -1.5
        return y

    return lambda: file.range_fill_(x.clone(), torch.tensor(ranges, device=device), -1.5), want


def _gather(kernel, name, shape, many):
    @repository.case(f"{OPS}_range_gather.py", kernel, small=dict(n=shape), production=dict(n=many), name=f"gather_{name}")  # fmt: skip
    def build(file, device, n):
        ranges = RANGES if n[0] < 1000 else MANY
        x = tm.normal(*n, device=device)
        return lambda: file.range_gather(x, torch.tensor(ranges, device=device), kernel_backend=name), lambda: x[_rows(ranges).to(device)]  # fmt: skip


_gather("range_gather_per_row_kernel", "per_row", (70, 3, 300), (64000, 8, 128))
_gather("range_gather_per_range_kernel", "per_range", (70, 60), (64000, 96))

TO = [[0, 14], [30, 31], [0, 14]]
REDUCE = dict(small=dict(n=(70, 3, 80), ranges=[[3, 17], [20, 21], [40, 54]], to=TO), production=dict(n=(64000, 8, 128), ranges=[[64 * i, 64 * i + 40] for i in range(1000)], to=[[64 * (i // 2), 64 * (i // 2) + 40] for i in range(1000)]), rtol=1e-4)  # fmt: skip


def _reduce(kernel, op, exact):
    @repository.case(f"{OPS}_range_reduce.py", kernel, name=f"reduce_{kernel[6:-7]}", **REDUCE)
    def build(file, device, n, ranges, to):
        x, out = tm.normal(*n, device=device), tm.normal(*n, device=device)
        a, b = (torch.tensor(r, device=device) for r in (ranges, to))

        def want():
            y, count = out.double().clone(), torch.ones(n[0], 1, 1, dtype=torch.float64, device=device)  # fmt: skip
            for (s, e), (u, v) in zip(ranges, to, strict=True):
                y[u:v] += x[s:e]
                count[u:v] += 1
            return y / count if op == "avg" else y

        return lambda: file.range_reduce(x, out.clone(), a, b, deterministic=exact, reduce_op=op), want  # fmt: skip


_reduce("range_sum_reduce_nondeter_kernel", "sum", False)
_reduce("range_sum_reduce_deter_kernel", "sum", True)
_reduce("range_avg_reduce_kernel", "avg", True)


# The program of a row's last part stores the new log-sum-exp where those of its other parts load the
# old one.
@repository.case(f"{OPS}_range_reduce.py", "range_lse_reduce_kernel, _safe_subtract_exp", finds="race-read-write", **REDUCE)  # fmt: skip
def reduce_lse(file, device, n, ranges, to):
    x, out = tm.normal(*n, device=device), tm.normal(*n, device=device)
    lse, out_lse = tm.normal(*n[:2], device=device), tm.normal(*n[:2], device=device)
    out_lse[30] = float("-inf")
    a, b = (torch.tensor(r, device=device) for r in (ranges, to))

    def want():
        y, total = out.double().clone(), out_lse.double().clone()
        for (s, e), (u, v) in zip(ranges, to, strict=True):
            both = torch.logaddexp(lse[s:e].double(), total[u:v])
            y[u:v] = y[u:v] * (total[u:v] - both).exp()[..., None] + x[s:e] * (lse[s:e] - both).exp()[..., None]  # fmt: skip
            total[u:v] = both
        return y, total

    return lambda: file.range_reduce(x, out.clone(), a, b, reduce_op="lse", input_lse=lse, output_lse=out_lse.clone()), want  # fmt: skip
