"""FBGEMM: jagged tensors, MX4, products in FP8 and of groups."""

from __future__ import annotations

import torch
import triton.language as tl

from practice import torch_math as tm
from practice.case import Repository

_GEMM = "fbgemm_gpu.experimental.gemm.triton_gemm."
_TYPES = {torch.bfloat16: tl.bfloat16, torch.float16: tl.float16, torch.float32: tl.float32}
repository = Repository(
    "pytorch/FBGEMM",
    "71d6f8b229d964e61cac24df9bbd2ffcc4b4d378",
    packages={"fbgemm_gpu": "fbgemm_gpu"},
    stand_ins={
        _GEMM + "matmul_perf_model": {"early_config_prune": lambda configs, *_, **__: configs},
        _GEMM + "utils": {"map_dtype_to_triton": _TYPES.get},
    },
)
SLL = "fbgemm_gpu/fbgemm_gpu/sll/triton/triton_"
FP8 = "fbgemm_gpu/experimental/gemm/triton_gemm/fp8_gemm.py"
GROUPED = "fbgemm_gpu/experimental/gemm/triton_gemm/grouped_gemm.py"
SMALL, LARGE = dict(lengths=[20, 7, 45], d=40, t=30), dict(lengths=[400, 100, 350, 3] * 64, d=128, t=256)  # fmt: skip


@repository.case(SLL + "jagged_bmm.py", "jagged_dense_bmm_kernel, jagged_jagged_bmm_kernel", small=SMALL, production=LARGE, rtol=1e-3, atol=1e-3)  # fmt: skip
def jagged_dense(file, device, lengths, d, t):
    x, starts = tm.normal(sum(lengths), d, device=device), tm.starts(lengths, device, torch.int64)
    y, up = tm.normal(len(lengths), d, t, device=device), tm.normal(sum(lengths), t, device=device)

    def right(x, y):
        return torch.cat([a @ b for a, b in zip(x.split(lengths), y, strict=True)])

    def ours(x, y):
        return file.JaggedDenseBmm.apply(x, y, starts, max(lengths), False)

    return (
        lambda: tm.with_gradients(ours, up, x, y),
        lambda: tm.with_gradients(right, up, x, y, exact=True),
    )


@repository.case(SLL + "jagged_softmax.py", "jagged_softmax_kernel, jagged_softmax_backward_kernel", small=SMALL, production=LARGE)  # fmt: skip
def jagged_softmax(file, device, lengths, d, t):
    x, up = (tm.normal(sum(lengths), d, device=device) for _ in range(2))
    starts = tm.starts(lengths, device, torch.int64)

    def ours(x):
        return file.JaggedSoftmax.apply(x, starts, max(lengths))

    def right(x):
        return torch.cat([part.softmax(0) for part in x.split(lengths)])

    return (
        lambda: tm.with_gradients(ours, up, x),
        lambda: tm.with_gradients(right, up, x, exact=True),
    )


@repository.case(SLL + "dense_jagged_cat_jagged_out.py", "dense_jagged_cat_jagged_out_kernel", small=SMALL, production=LARGE)  # fmt: skip
def jagged_cat(file, device, lengths, d, t):
    a, b = (tm.integers(0, 100, n, device=device) for n in (len(lengths), sum(lengths)))
    starts = tm.starts(lengths, device, torch.int64)

    def want():
        parts = zip(a.split(1), b.split(lengths), strict=True)
        offsets = starts + torch.arange(len(starts), device=device)
        return torch.cat([torch.cat(pair) for pair in parts]), offsets

    return lambda: file.dense_jagged_cat_jagged_out(a, b, starts, max(lengths)), want


@repository.case(SLL + "jagged2_to_padded_dense.py", "jagged2_to_padded_dense_kernel", small=SMALL, production=dict(LARGE, lengths=[400, 100, 350, 3]))  # fmt: skip
def padded(file, device, lengths, d, t):
    values = tm.normal(sum(n * n for n in lengths), device=device)
    starts = tm.starts([n * n for n in lengths], device, torch.int64)
    counts, most = torch.tensor(lengths, device=device), max(lengths)

    def want():
        out = torch.full((len(lengths), most, most), -1.0, device=device)
        for i, (n, part) in enumerate(zip(lengths, values.split([n * n for n in lengths]), strict=True)):  # fmt: skip
            out[i, :n, :n] = part.view(n, n)
        return out

    return lambda: file.jagged2_to_padded_dense_fwd(values, counts, starts, most, -1.0), want


@repository.case("fbgemm_gpu/fbgemm_gpu/triton/quantize.py", "_kernel_quantize_mx4, _kernel_dequantize_mx4", small=dict(m=40, n=96), production=dict(m=4096, n=4096), rtol=0.3, atol=0.5)  # fmt: skip
def mx4(file, device, m, n):
    x = tm.normal(m, n, device=device)
    return lambda: file.triton_dequantize_mx4(file.triton_quantize_mx4(x)).view(m, n), lambda: x


@repository.case(FP8, "_kernel_quantize_fp8_row", small=dict(m=20, n=300), production=dict(m=4096, n=4096), rtol=0.07, atol=1e-2)  # fmt: skip
def fp8_rows(file, device, m, n):
    x = tm.normal(m, n, device=device)

    def run():
        y, scales = file.triton_quantize_fp8_row(x)
        return y.float().double() * scales.double()[:, None]

    return run, lambda: x


@repository.case(GROUPED, "_fbgemm_grouped_gemm", small=dict(sizes=[20, 0, 70], n=64, k=128), production=dict(sizes=[1000, 0, 3000, 96], n=4096, k=4096), rtol=2e-2, atol=2e-1)  # fmt: skip
def grouped(file, device, sizes, n, k):
    x = tm.normal(sum(sizes), k, device=device, dtype=torch.bfloat16)
    w = tm.normal(len(sizes) * n, k, device=device, dtype=torch.bfloat16)
    counts = torch.tensor(sizes, dtype=torch.int32, device=device)

    def want():
        parts = zip(x.double().split(sizes), w.double().split(n), strict=True)
        return torch.cat([a @ b.T for a, b in parts])

    return lambda: file.grouped_gemm(x, w, counts, _use_warp_specialization=False), want
