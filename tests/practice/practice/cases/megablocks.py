"""MegaBlocks: rows to experts and back, padded or with a capacity, and the gradients of their weights."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "databricks/megablocks",
    "78eea65fda01e638af36ae38853bc51efb04a4b4",
    packages={"megablocks": "."},
)
FILE = "megablocks/backend/kernels.py"
SIZES = dict(small=dict(m=40, t=2, e=4, n=200), production=dict(m=8192, t=2, e=64, n=4096))
HALF = dict(rtol=1e-2, atol=1e-3)


class _Routing:
    """(row, slot) numbers by expert; ends of experts' bins, of padded ones, and the place of each."""

    def __init__(self, device, m, t, e, n, pad=16):
        experts = torch.randint(0, e, (m * t,))
        self.bins_of, self.order = experts.sort(stable=True)
        counts = torch.bincount(experts, minlength=e)
        self.bins, self.padded = counts.cumsum(0), (-(-counts // pad) * pad).cumsum(0)
        self.inside = torch.arange(m * t) - (self.bins - counts)[self.bins_of]
        self.place = (self.padded - -(-counts // pad) * pad)[self.bins_of] + self.inside
        self.counts = counts
        self.weights = torch.rand(m * t).half().to(device)
        self.on_device = {
            name: getattr(self, name).to(torch.int32).to(device)
            for name in ("order", "bins_of", "bins", "padded")
        }
        for name in ("order", "bins_of", "inside", "place"):
            setattr(self, name, getattr(self, name).to(device))


@repository.case(FILE, "_padded_copy", **SIZES, **HALF)
def padded_gather(file, device, m, t, e, n):
    r, x = _Routing(device, m, t, e, n), tm.normal(m, n, device=device, dtype=torch.float16)
    d = r.on_device

    def want():
        out = torch.zeros(int(r.padded[-1]), n, device=device, dtype=torch.float64)
        out[r.place] = x.double()[r.order // t] * r.weights.double()[r.order][:, None]
        return out

    return (
        lambda: file.padded_gather(
            x, d["order"], d["bins_of"], r.weights, d["bins"], d["padded"], t
        ),
        want,
    )


@repository.case(FILE, "_padded_copy", **SIZES, **HALF)
def gather(file, device, m, t, e, n):
    r, x = _Routing(device, m, t, e, n), tm.normal(m, n, device=device, dtype=torch.float16)
    d = r.on_device
    return (
        lambda: file.gather(x, d["order"], d["bins_of"], None, d["bins"], t),
        lambda: x[r.order // t],
    )


@repository.case(FILE, "_padded_copy", **SIZES, rtol=1e-2, atol=2e-3)
def padded_scatter(file, device, m, t, e, n):
    r = _Routing(device, m, t, e, n)
    x, d = tm.normal(int(r.padded[-1]), n, device=device, dtype=torch.float16), r.on_device

    def want():
        rows = torch.zeros(m * t, n, device=device, dtype=torch.float64)
        rows[r.order] = x.double()[r.place] * r.weights.double()[r.order][:, None]
        return rows.view(m, t, n).sum(1)

    return (
        lambda: file.padded_scatter(
            x, d["order"], d["bins_of"], r.weights, d["bins"], d["padded"], t
        ),
        want,
    )


# The last block of a row is loaded without `other`, and summed.
@repository.case(FILE, "_padded_copy_wgrad", **SIZES, rtol=1e-2, atol=5e-2)  # fmt: skip
def padded_scatter_gradient(file, device, m, t, e, n):
    r = _Routing(device, m, t, e, n)
    x, d = tm.normal(int(r.padded[-1]), n, device=device, dtype=torch.float16), r.on_device
    g = tm.normal(m, n, device=device, dtype=torch.float16)

    def want():
        out = torch.zeros(m * t, device=device, dtype=torch.float64)
        out[r.order] = (x.double()[r.place] * g.double()[r.order // t]).sum(-1)
        return out

    return (
        lambda: file.padded_scatter_wgrad(
            x, g, d["order"], d["bins_of"], d["bins"], d["padded"], t
        ),
        want,
    )


@repository.case(FILE, "_binned_copy", **SIZES, **HALF)
def binned_gather(file, device, m, t, e, n):
    r, x = _Routing(device, m, t, e, n), tm.normal(m, n, device=device, dtype=torch.float16)
    capacity, d = int(r.counts.max()) + 3, r.on_device

    def want():
        out = torch.zeros(e, capacity, n, device=device, dtype=torch.float64)
        out[r.bins_of, r.inside] = x.double()[r.order // t] * r.weights.double()[r.order][:, None]
        return out

    return lambda: file.binned_gather(x, d["order"], r.weights, d["bins"], capacity, t), want


@repository.case(FILE, "_binned_copy", **SIZES, rtol=1e-2, atol=2e-3)
def binned_scatter(file, device, m, t, e, n):
    r = _Routing(device, m, t, e, n)
    capacity, d = int(r.counts.max()) + 3, r.on_device
    x = tm.normal(e, capacity, n, device=device, dtype=torch.float16)

    def want():
        rows = torch.zeros(m * t, n, device=device, dtype=torch.float64)
        rows[r.order] = x.double()[r.bins_of, r.inside] * r.weights.double()[r.order][:, None]
        return rows.view(m, t, n).sum(1)

    return lambda: file.binned_scatter(x, d["order"], r.weights, d["bins"], t), want


@repository.case(FILE, "_binned_copy_wgrad", **SIZES, rtol=1e-2, atol=5e-2)  # fmt: skip
def binned_scatter_gradient(file, device, m, t, e, n):
    r = _Routing(device, m, t, e, n)
    capacity, d = int(r.counts.max()) + 3, r.on_device
    x = tm.normal(e, capacity, n, device=device, dtype=torch.float16)
    g = tm.normal(m, n, device=device, dtype=torch.float16)

    def want():
        out = torch.zeros(m * t, device=device, dtype=torch.float64)
        out[r.order] = (x.double()[r.bins_of, r.inside] * g.double()[r.order // t]).sum(-1)
        return out

    return lambda: file.binned_scatter_wgrad(x, g, d["order"], d["bins"], t), want
