"""Solutions of LeetGPU by jiangdongzi: segmented scans, merges, compaction, nearest points."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("jiangdongzi/leetgpu", "2203e5cc4dc79cc95f0123c5561efb71f602edc4")
FOLDER = "triton_impl"


@repository.case(f"{FOLDER}/SegmentedExclusivePrefixSum.py", "local_scan_kernel, add_block_sums_kernel, final_exclusive_kernel", small=dict(n=10000, every=300), production=dict(n=1 << 25, every=1000))  # fmt: skip
def segmented_scan(file, device, n, every):
    x = tm.integers(-3, 4, n, device=device, dtype=torch.float32)
    flags = (torch.rand(n) < 1 / every).to(torch.int32).to(device)

    def run():
        out = torch.empty_like(x)
        file.solve(x, flags, out, n)
        return out

    def want():
        before = x.double().cumsum(0) - x
        i = torch.arange(n, device=device)
        return before - before[torch.where(flags > 0, i, 0).cummax(0).values]

    return run, want


@repository.case(f"{FOLDER}/NearestNeighbor.py", "nearest_neighbor_kernel", rtol=1e-4, atol=1e-5, small=dict(n=200), production=dict(n=32768))  # fmt: skip
def nearest_points(file, device, n):
    points = torch.rand(n, 3).to(device)

    def run():
        ids = torch.empty(n, device=device, dtype=torch.int32)
        file.solve(points.flatten(), ids, n)
        return (points - points[ids.clamp(0, n - 1).long()]).norm(dim=-1)

    def want():
        distances = torch.cdist(points.double(), points.double())
        return distances.fill_diagonal_(float("inf")).amin(-1)

    return run, want


@repository.case(f"{FOLDER}/ParaMerge.py", "merge_kernel", small=dict(m=900, n=1500), production=dict(m=1 << 23, n=1 << 23))  # fmt: skip
def merge(file, device, m, n):
    a, b = (torch.rand(size).to(device).sort().values for size in (m, n))

    def run():
        out = torch.empty(m + n, device=device)
        file.solve(a, b, out, m, n)
        return out

    return run, lambda: torch.cat([a, b]).sort().values


@repository.case(f"{FOLDER}/streamCompaction.py", "block_count, compact", small=dict(n=3000), production=dict(n=1 << 25))  # fmt: skip
def compaction(file, device, n):
    x = tm.normal(n, device=device)

    def run():
        out = torch.zeros_like(x)
        file.solve(x, n, out)
        return out

    def want():
        kept = x[x > 0]
        return torch.cat([kept, torch.zeros(n - len(kept), device=device)])

    return run, want
