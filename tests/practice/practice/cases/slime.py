"""slime: routing of tokens to experts and back in a fixed order."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("THUDM/slime", "624b824a898ab0ec1fcb4d373004c7f3852bf515")
FILE = "slime/backends/megatron_utils/alignment/deterministic_route_kernels.py"
SIZES = dict(small=dict(m=20, n=300, topk=3), production=dict(m=8192, n=4096, topk=8))
BF16 = torch.bfloat16


def _routes(m, topk, device):
    """Where each slot of each token goes: a row of its own, or nowhere (-1)."""
    index = torch.randperm(m * topk).view(m, topk)
    index[torch.rand(m, topk) < 0.2] = -1
    return index.to(device)


@repository.case(FILE, "_scatter_routes_forward_kernel, _scatter_routes_backward_kernel", rtol=2e-2, atol=2e-2, **SIZES)  # fmt: skip
def scatter(file, device, m, n, topk):
    x, up = (tm.normal(rows, n, device=device, dtype=BF16) for rows in (m, m * topk))
    index = _routes(m, topk, device)

    def run():
        out, grad = torch.zeros_like(up), torch.empty_like(x)
        file.scatter_routes_forward(x, index, out)
        file.scatter_routes_backward(up, index, grad)
        return out, grad

    def want():
        out, keep = torch.zeros_like(up), index >= 0
        out[index[keep]] = x[keep.nonzero()[:, 0]]
        picked = torch.where(keep[..., None], up[index.clamp(min=0)].double(), 0.0)
        return out, picked.sum(1)

    return run, want


@repository.case(FILE, "_ordered_route_grad_kernel", rtol=2e-2, atol=2e-2, **SIZES)
def ordered(file, device, m, n, topk):
    up, weights = tm.normal(m, n, device=device, dtype=BF16), torch.rand(m, topk).to(device)
    index = _routes(m, topk, device)

    def run():
        out = torch.zeros(m * topk, n, dtype=BF16, device=device)
        file.ordered_route_grad(up, weights, index, out)
        return out

    def want():
        out, keep = torch.zeros(m * topk, n, device=device).double(), index >= 0
        out[index[keep]] = (up.double()[:, None] * weights.double()[..., None])[keep]
        return out

    return run, want


@repository.case(FILE, "_compact_route_positions_kernel", small=dict(m=200, topk=3), production=dict(m=65536, topk=8))  # fmt: skip
def compact(file, device, m, topk):
    valid = (torch.rand(m, topk) < 0.4).to(device)
    count = int(valid.sum())
    return lambda: file.compact_route_positions(valid, count), lambda: valid.nonzero()
