"""Noether: neighbours of points, all within a radius up to a number of them, or the nearest ones,
only among points of the same batch."""

from __future__ import annotations

import torch

from practice.case import Repository

repository = Repository("Emmi-AI/noether", "12bbabad8210643423113f1f17927b64c99f7711")
FILE = "src/noether/modeling/functional/geometric.py"


def _batches(count, each, device):
    return torch.arange(count).repeat_interleave(each).to(torch.int32).to(device)


@repository.case(FILE, "_radius_kernel", small=dict(b=2, x=150, y=20, most=7), production=dict(b=8, x=2048, y=2048, most=32), rtol=0, atol=0)  # fmt: skip
def within_radius(file, device, b, x, y, most):
    """Whole coordinates, so that no rounding decides which points are near enough."""
    points, centres = (torch.randint(0, 64, (b * n, 3)).float().to(device) for n in (x, y))
    batch_x, batch_y = (_batches(b, n, device) for n in (x, y))
    limit = 300.5

    def run():
        found = torch.full((b * y, most), -1, dtype=torch.int64, device=device)
        file._radius_kernel[(b * y,)](
            points, centres, batch_x, batch_y, found, b * x, b * y, 3, limit, most, True
        )
        return found

    def want():
        rows = []
        for i in range(b):
            p, c = points[i * x : (i + 1) * x].double(), centres[i * y : (i + 1) * y].double()
            near = torch.cdist(c, p, compute_mode="donot_use_mm_for_euclid_dist") ** 2 < limit
            index = torch.where(near, torch.arange(x, device=device), x).sort(1).values[:, :most]
            rows.append(torch.where(index < x, index + i * x, -1))
        return torch.cat(rows)

    return run, want


@repository.case(FILE, "_knn_kernel", small=dict(b=2, x=150, y=12, k=6), production=dict(b=8, x=2048, y=1024, k=12), rtol=1e-5, atol=1e-6)  # fmt: skip
def nearest(file, device, b, x, y, k):
    """The distances of the nearest points in order, twice: as stored, and from their indices."""
    points, centres = (torch.rand(b * n, 3).to(device) for n in (x, y))
    batch_x, batch_y = (_batches(b, n, device) for n in (x, y))

    def run():
        index = torch.empty(b * y, k, dtype=torch.int64, device=device)
        distances = torch.empty(b * y, k, device=device)
        file._knn_kernel[(b * y,)](
            points, centres, batch_x, batch_y, index, distances, b * x, b * y, 3, k, True,
            BLOCK_K=1 << (k - 1).bit_length(),
        )  # fmt: skip
        again = (points[index].double() - centres[:, None].double()).square().sum(-1)
        return distances.sort(1).values, again.sort(1).values

    def want():
        rows = []
        for i in range(b):
            p, c = points[i * x : (i + 1) * x].double(), centres[i * y : (i + 1) * y].double()
            all_of = torch.cdist(c, p, compute_mode="donot_use_mm_for_euclid_dist")
            rows.append(all_of.square().sort(1).values[:, :k])
        return torch.cat(rows), torch.cat(rows)

    return run, want
