"""SAVI: soft dynamic time warping, the alignment of two sequences of vectors as the gradient of its
cost, all along diagonals, and the distances that it takes, within a band."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("minwoo-yu/SAVI", "0567c27c901fbe551962df256e0ccc1268a455de", folders=(".",))  # fmt: skip


@repository.case("euclidean_dist_triton.py", "_euclid_dist_forward", small=dict(b=5, n=40, d=7, band=9), production=dict(b=128, n=512, d=16, band=400), rtol=1e-4, atol=1e-4)  # fmt: skip
def distances(file, device, b, n, d, band):
    """Squared; 0 outside of the band, which has one element more than its width."""
    x, y = (tm.normal(b, n, d, device=device) for _ in range(2))

    def want():
        at = torch.arange(n, device=device)
        is_near = (at[:, None] - at).abs() <= band + 1
        exact = torch.cdist(x.double(), y.double(), compute_mode="donot_use_mm_for_euclid_dist")
        return torch.where(is_near, exact.square(), 0.0)

    return lambda: file.dist_triton(x, y, band), want


def _cost(costs, gamma):
    """Of the best way, softly: cells from the first to the last one, with steps in one direction
    or in both. ``costs``: (b, n, m)."""
    b, n, m = costs.shape
    far = costs.new_full((b, n + 1), float("inf"))
    start = far.clone()
    start[:, 0] = 0.0
    before, last = start, far  # of the diagonals i + j = p - 2 and p - 1, for i from 0 to n
    for p in range(2, n + m + 1):
        i = torch.arange(max(1, p - m), min(n, p - 1) + 1, device=costs.device)
        three = torch.stack([before[:, i - 1], last[:, i - 1], last[:, i]])
        soft = costs[:, i - 1, p - i - 1] - gamma * (-three / gamma).logsumexp(0)
        before, last = last, far.index_copy(1, i, soft)
    return last[:, n]


@repository.case("soft_dtw_triton.py", "softdtw_forward_R, softdtw_forward_boundary, softdtw_forward_E", small=dict(b=3, n=11, d=3), production=dict(b=64, n=192, d=8), rtol=1e-3, atol=1e-4)  # fmt: skip
def alignment(file, device, b, n, d):
    x, y = (tm.normal(b, n, d, device=device) for _ in range(2))
    module = file.SoftDTWTriton(gamma=0.7)

    def want():
        costs = (x.double()[:, :, None] - y.double()[:, None]).square().sum(-1).requires_grad_()
        return torch.autograd.grad(_cost(costs, 0.7).sum(), costs)[0]

    return lambda: module(x, y), want
