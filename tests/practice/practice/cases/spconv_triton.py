"""spconv-triton: gathered products and pooling of sparse convolutions, searches in sorted keys."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "L-Reichardt/spconv-triton",
    "63361695e891de7aff32841ebb86f2661a41b059",
    packages={"spconv_triton": "."},
)
FOLDER = "spconv_triton/pytorch/_impl"
SMALL, LARGE = dict(n=90, m=70, kv=9, c=24, k=40), dict(n=50000, m=50000, kv=27, c=64, k=64)


def _pairs(device, kv, n, m):
    """For each offset and output the row of its input, or -1."""
    pairs = torch.randint(-1, n, (kv, m), dtype=torch.int32)
    return torch.where(torch.rand(kv, m) < 0.5, pairs, -1).to(device)


@repository.case(f"{FOLDER}/gemm.py", "_gather_gemm_kernel, _dot", small=SMALL, production=LARGE, rtol=1e-4, atol=1e-4)  # fmt: skip
def gathered(file, device, n, m, kv, c, k):
    x, w = tm.normal(n, c, device=device), tm.normal(k, kv, c, device=device)
    bias, pairs = tm.normal(k, device=device), _pairs(device, kv, n, m)

    def want():
        rows = torch.cat([x.double(), x.new_zeros(1, c)])[pairs.long()]
        return torch.einsum("vmc,kvc->mk", rows, w.double()) + bias

    return lambda: file.conv_forward(x, w, pairs, m, bias), want


@repository.case(f"{FOLDER}/pool.py", "_maxpool_fwd_kernel", small=SMALL, production=LARGE)
def max_pool(file, device, n, m, kv, c, k):
    x, pairs = tm.normal(n, c, device=device), _pairs(device, kv, n, m)
    pairs[0] = torch.arange(m, device=device) % n

    def want():
        rows = torch.cat([x.double(), x.new_full((1, c), float("-inf"))])[pairs.long()]
        return rows.amax(0).clamp(min=0)  # as in spconv, missing neighbours count as 0

    return lambda: file.maxpool_forward(x, pairs, m), want


@repository.case(f"{FOLDER}/pair_kernels.py", "_lower_bound_rows_kernel, _lower_bound", small=SMALL, production=LARGE)  # fmt: skip
def lower_bound(file, device, n, m, kv, c, k):
    keys = torch.randint(0, 3 * n, (kv, n), dtype=torch.int32).to(device)
    valid = (torch.rand(kv, n) < 0.7).to(device)
    places = keys[valid].unique()
    want = torch.where(valid, torch.searchsorted(places, keys), 0)
    return lambda: file.lower_bound_rows(keys, valid, places), lambda: want
