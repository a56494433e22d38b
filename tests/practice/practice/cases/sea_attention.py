"""SEA: attention whose mask, scores and probabilities are flat CSR matrices of all heads."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "gmlwns2000/sea-attention",
    "5609413b14f480d741cf1edde49691576fc92b50",
    packages={"src": "."},
    stand_ins={
        "src.utils": {"get_bench": lambda: SimpleNamespace(region=contextlib.nullcontext)},
    },
)
FOLDER = "src/models/perlin_attention/ops/kernels"
SIZES = dict(
    small=dict(n=2, h=2, t=24, z=16, d=40), production=dict(n=1, h=12, t=4096, z=384, d=64)
)


def _csr(device, n, h, t, z, ragged):
    """Up to z columns a row, one from each of z equal parts of h*t; values are normal."""
    step = h * t // z
    columns = torch.arange(z) * step + torch.randint(step, (n, t, z))
    counts = torch.full((t,), z)
    if ragged:
        counts -= torch.arange(t) * 7 % (z // 2)
    kept = torch.arange(z) < counts[:, None]
    crow = torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)]).expand(n, -1)
    columns = columns[:, kept]
    values = torch.randn(columns.shape)
    return torch.sparse_csr_tensor(
        *(x.contiguous().to(device) for x in (crow, columns, values)), (n, t, h * t)
    )


def _rows(csr):
    """Of each value its batch, row and column."""
    counts = csr.crow_indices().diff()[0]
    rows = torch.arange(len(counts), device=counts.device).repeat_interleave(counts)
    columns = csr.col_indices()
    batch = torch.arange(len(columns), device=columns.device)[:, None].expand_as(columns)
    return batch, rows.expand_as(columns), columns


@repository.case(f"{FOLDER}/flat_csr_masked_bmm.py", "__flat_csr_masked_bmm_compute", rtol=1e-4, atol=1e-4, **SIZES)  # fmt: skip
def scores(file, device, n, h, t, z, d):
    a, b = (tm.normal(n, h, t, d, device=device) for _ in range(2))
    mask = _csr(device, n, h, t, z, False)

    def want():
        batch, rows, columns = _rows(mask)
        head, columns = columns // t, columns % t
        return (a[batch, head, rows].double() * b[batch, head, columns]).sum(-1)

    return lambda: file.flat_csr_masked_bmm(a, b, mask).values(), want


@repository.case(f"{FOLDER}/flat_csr_softmax.py", "__flat_csr_softmax_compute", rtol=1e-4, atol=1e-6, **SIZES)  # fmt: skip
def softmax(file, device, n, h, t, z, d):
    x = _csr(device, n, h, t, z, True)

    def want():
        batch, rows, columns = _rows(x)
        groups = (batch * t + rows) * h + columns // t
        e = x.values().double().exp()
        sums = torch.zeros(n * t * h, dtype=torch.float64, device=device)
        return e / sums.index_add(0, groups.flatten(), e.flatten())[groups]

    return lambda: file.flat_csr_softmax(x, h, t).values(), want


@repository.case(f"{FOLDER}/flat_csr_sdbmm.py", "__flat_csr_sdbmm_tch_compute, __flat_csr_sdbmm_compute", rtol=1e-4, atol=1e-4, **SIZES)  # fmt: skip
def weighted_values(file, device, n, h, t, z, d):
    p, v = _csr(device, n, h, t, z, True), tm.normal(n, h, t, d, device=device)

    def want():
        batch, rows, columns = _rows(p)
        head, columns = columns // t, columns % t
        out = torch.zeros(n, h, t, d, dtype=torch.float64, device=device)
        terms = p.values().double()[..., None] * v[batch, head, columns]
        return out.index_put((batch, head, rows), terms, accumulate=True)

    return lambda: file.flat_csr_sdbmm(p, v, 128), want
