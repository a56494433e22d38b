"""Wheest/triton_samples: transposes, softmax and products of batches."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Wheest/triton_samples", "b2e7e4ac97af918dbe3c810031aa0d7932adcad1")
SIZES = dict(small=dict(b=3, m=48, n=64), production=dict(b=32, m=1024, n=1024))
FP16 = torch.float16


@repository.case("python/batch_softmax.py", "softmax_kernel_batch", **SIZES, rtol=1e-2, atol=1e-3)
def batch_softmax(file, device, b, m, n):
    x = tm.normal(b, m, n - 3, device=device, dtype=FP16)
    return lambda: file.triton_batch_softmax(x), lambda: x.double().softmax(-1)


@repository.case("python/batch_transpose.py", "batch_transpose_kernel", **SIZES)
def batch_transpose(file, device, b, m, n):
    x = tm.normal(b, m, n, device=device, dtype=FP16)
    return lambda: file.triton_transpose(x), lambda: x.mT


@repository.case("python/transpose.py", "transpose_kernel", **SIZES)
def transpose(file, device, b, m, n):
    x = tm.integers(-999, 999, m, b * n, device=device, dtype=torch.int16)
    return lambda: file.triton_transpose(x), lambda: x.T


@repository.case("python/bmm.py", "matmul_kernel", **SIZES, rtol=1e-2, atol=1e-1)
def batch_product(file, device, b, m, n):
    x, y = tm.normal(b, m, 50, device=device, dtype=FP16), tm.normal(50, n - 7, device=device, dtype=FP16)  # fmt: skip
    return lambda: file.matmul(x, y), lambda: x.double() @ y.double()
