"""TEAL: a matrix times a vector whose small elements count as 0."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("FasterDecoding/TEAL", "5baaec8645ce76368bd49eb05efb23f1da7edec6", stand_ins={"compile_wrapper": {}})  # fmt: skip
HALF = dict(rtol=2e-2, atol=2e-1)


def _inputs(device, n, k):
    x = tm.normal(1, 1, k, device=device, dtype=torch.float16)
    weight = tm.normal(k, n, device=device, dtype=torch.float16).T  # column by column
    return x, weight


@repository.case("kernels/sparse_gemv.py", "splitk_sparse_gemv_kernel", small=dict(n=512, k=256), production=dict(n=4096, k=4096), **HALF)  # fmt: skip
def sparse_gemv(file, device, n, k):
    x, weight = _inputs(device, n, k)
    kept = torch.where(x.abs() > 0.5, x, 0).double()
    return lambda: file.splitk_sparse_gemv(x, weight, 0.5, 50), lambda: kept @ weight.double().T


@repository.case("kernels/sparse_gemv.py", "qkv_kernel", small=dict(n=1024, k=256, kv=256), production=dict(n=6144, k=4096, kv=1024), **HALF)  # fmt: skip
def sparse_qkv(file, device, n, k, kv):
    x, weight = _inputs(device, n, k)

    def want():
        parts = zip(weight.double().split([n - 2 * kv, kv, kv]), (0.3, 0.5, 0.7))
        return torch.cat([torch.where(x.abs() > t, x, 0).double() @ w.T for w, t in parts], -1)

    return lambda: file.qkv_gemv(x, weight, 0.3, 0.5, 0.7, 50, kv), want
