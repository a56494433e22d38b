"""flash-kmeans: assignment to the nearest centroids, and new centroids by atomics."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "svg-project/flash-kmeans",
    "3f1ea6ba5fb09242913516b5a8ab8366c2b0bfe8",
    packages={"flash_kmeans": "."},
    stand_ins={"tqdm": {"trange": range}},
)
ASSIGN, UPDATE = "flash_kmeans/assign_euclid_triton.py", "flash_kmeans/centroid_update_triton.py"
SMALL, LARGE = dict(b=2, n=300, k=40, d=48), dict(b=8, n=65536, k=1024, d=128)


def _distances(x, c):
    return torch.cdist(x.double(), c.double())


def _assign(d_small, d_large, heuristic=True):
    def build(file, device, b, n, k, d):
        x = tm.normal(b, n, d, device=device, dtype=torch.float16)
        c = tm.normal(b, k, d, device=device, dtype=torch.float16)

        def run():
            ids = file.euclid_assign_triton(
                x, c, x.float().square().sum(-1), use_heuristic=heuristic
            )
            if device == "cuda" or ids.max() < k:
                return _distances(x, c).gather(-1, ids.long()[..., None])[..., 0]
            return ids

        return run, lambda: _distances(x, c).min(-1)[0]

    return build


repository.case(ASSIGN, "_euclid_assign_kernel", small=SMALL, production=LARGE, rtol=1e-3, name="assign")(_assign(48, 128))  # fmt: skip
repository.case(ASSIGN, "_euclid_assign_kernel_split_d", small=dict(SMALL, d=700), production=dict(LARGE, d=1024), rtol=1e-3, name="assign_split")(_assign(700, 1024))  # fmt: skip


@repository.case(ASSIGN, "_cosine_assign_kernel", small=SMALL, production=LARGE, rtol=1e-3)
def assign_cosine(file, device, b, n, k, d):
    x = tm.normal(b, n, d, device=device, dtype=torch.float16)
    c = tm.normal(b, k, d, device=device, dtype=torch.float16)
    like = x.double() @ c.double().mT

    def run():
        return like.gather(-1, file.cosine_assign_triton(x, c).long()[..., None])[..., 0]

    return run, lambda: like.max(-1)[0]


def _means(x, ids, old):
    sums = torch.zeros_like(old, dtype=torch.float64)
    sums.scatter_add_(1, ids[..., None].expand_as(x), x.double())
    counts = torch.zeros(old.shape[:2], dtype=torch.float64, device=x.device)
    counts.scatter_add_(1, ids, torch.ones_like(ids, dtype=torch.float64))
    return torch.where(counts[..., None] == 0, old.double(), sums / counts[..., None].clamp(min=1))


@repository.case(UPDATE, "_centroid_update_kernel", small=SMALL, production=LARGE, atol=1e-4)
def update(file, device, b, n, k, d):
    x, old = tm.normal(b, n, d, device=device), tm.normal(b, k, d, device=device)
    ids = tm.integers(0, k - 1, b, n, device=device)
    return lambda: file.triton_centroid_update_euclid(x, ids, old), lambda: _means(x, ids, old)


@repository.case(UPDATE, "_centroid_update_chunk_kernel", small=SMALL, production=LARGE, atol=1e-4)
def update_sorted(file, device, b, n, k, d):
    x, old = tm.normal(b, n, d, device=device), tm.normal(b, k, d, device=device)
    ids = tm.integers(0, k - 1, b, n, device=device)
    return (
        lambda: file.triton_centroid_update_sorted_euclid(x, ids, old),
        lambda: _means(x, ids, old),
    )
