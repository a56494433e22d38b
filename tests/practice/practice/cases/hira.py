"""HIRA: an index of cached keys, in which balls around parents say which keys can matter: filled,
and searched."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("UIC-InDeXLab/HIRA", "6a6c9bee21478484df99a623afe0314a937dda82")
UPDATE, SEARCH = (f"kernels/triton_{name}_kernels.py" for name in ("update", "search"))
HALF = torch.float16


@repository.case(
    UPDATE,
    "_nearest_l2_stage1_kernel_batched, _nearest_l2_stage2_kernel_batched",
    rtol=1e-4,
    atol=1e-3,
    share=1e-4,
    small=dict(heads=2, n=20, centers=300, d=64),
    production=dict(heads=8, n=256, centers=8192, d=128),
)
def nearest_parents(file, device, heads, n, centers, d):
    """Some of the parents are not valid."""
    x, parents = (tm.normal(heads, m, d, device=device, dtype=HALF) for m in (n, centers))
    valid = torch.rand(heads, centers) < 0.8
    valid = valid.to(torch.uint8).to(device)

    def want():
        far = parents.double().square().sum(-1)[:, None] - 2 * x.double() @ parents.double().mT
        best = far.masked_fill(valid[:, None] == 0, float("inf")).min(-1)
        return best.indices, best.values

    return lambda: file.nearest_l2_triton_batched(x, parents, valid), want


# Which place a key gets is by chance: keys are read from where they were put.
@repository.case(
    UPDATE,
    "_fill_children_atomic_kernel_batched, _update_parent_radii_atomic_kernel_batched_masked",
    rtol=1e-5,
    atol=1e-5,
    small=dict(heads=2, n=60, parents=10, d=64, room=40),
    production=dict(heads=8, n=65536, parents=8192, d=128, room=32),
)
def inserted_keys(file, device, heads, n, parents, d, room):
    keys, centers = (tm.normal(heads, m, d, device=device) for m in (n, parents))
    own = tm.integers(0, parents, heads, n, device=device, dtype=torch.int32)
    before = tm.integers(0, 4, heads, parents, device=device, dtype=torch.int32)
    radii = torch.rand(heads, parents).to(device) + d**0.5

    def run():
        counts, grown = before.clone(), radii.clone()
        children = torch.zeros(heads, parents * room, d, device=device)
        placed, places = file.fill_existing_children_atomic_batched(
            keys, own, counts, children, room
        )
        file.update_parent_radii_atomic_batched_masked(
            keys, own, placed.to(torch.uint8), centers, grown
        )
        rows = torch.arange(heads, device=device)[:, None]
        return placed, places // room, children[rows, places.long()], counts, grown

    def want():
        counts, grown = before.clone(), radii.double()
        for i in range(heads):
            to = own[i].long()
            counts[i] += to.bincount(minlength=parents).to(counts.dtype)
            far = (keys[i].double() - centers[i].double()[to]).norm(dim=-1)
            grown[i] = grown[i].scatter_reduce(0, to, far, "amax")
        return torch.ones_like(own, dtype=torch.bool), own, keys, counts, grown

    return run, want


def _levels(device, heads, groups, tops, branch, levels, d):
    """Keys, and the parents of each level with their radii, and queries."""
    counts = [tops * branch**i for i in reversed(range(levels))]
    rows = [tm.normal(heads, count, d, device=device, dtype=HALF) for count in counts]
    radii = [(torch.rand(heads, count) * 4).to(device) for count in counts[1:]]
    q = tm.normal(heads * groups, d, device=device)
    own = torch.arange(heads * groups, dtype=torch.int32).to(device) // groups
    least = torch.full((heads * groups,), d**0.5).to(device)
    scaling = torch.full((heads * groups,), d**-0.5).to(device)
    return rows, radii, q, own, least, scaling


def _found(rows, radii, q, own, least, scaling, branch):
    """Scores of keys all of whose parents are near enough; 0 where one is not."""
    q, own = q.double()[:, None], own.long()
    open_ = None
    for level in reversed(range(1, len(rows))):
        near = (q * rows[level].double()[own]).sum(-1) + radii[level - 1][own] > least[:, None]
        open_ = near if open_ is None else near & open_
        open_ = open_.repeat_interleave(branch, -1)
    scores = (q @ rows[0].double()[own].mT)[:, 0] * scaling[:, None]
    return scores * open_


# Rounding decides about a parent just at the edge.
@repository.case(
    SEARCH,
    "two_level_filter_kernel_batched",
    rtol=1e-4,
    atol=1e-4,
    share=1e-4,
    small=dict(heads=2, groups=2, tops=20, branch=8, d=64),
    production=dict(heads=8, groups=4, tops=4096, branch=32, d=128),
)
def search_in_two_levels(file, device, heads, groups, tops, branch, d):
    (keys, parents), (radii,), *rest = _levels(device, heads, groups, tops, branch, 2, d)
    q, own, least, scaling = rest

    def run():
        out = torch.zeros(len(q), tops * branch, device=device)
        file.two_level_filter_kernel_batched[(tops, len(q))](
            keys, parents, radii, q, own, out, least, scaling,
            *keys.stride()[:2], *parents.stride()[:2], *radii.stride(), *q.stride(),
            *out.stride(), 1, 1, 1, n_cols=d, BLOCK_C=8, branching_factor=branch,
        )  # fmt: skip
        return out

    return run, lambda: _found([keys, parents], [radii], *rest, branch)


@repository.case(
    SEARCH,
    "three_level_filter_kernel_v1_batched",
    rtol=1e-4,
    atol=1e-4,
    share=1e-4,
    small=dict(heads=2, groups=2, tops=6, branch=8, d=64),
    production=dict(heads=8, groups=4, tops=512, branch=16, d=128),
)
def search_in_three_levels(file, device, heads, groups, tops, branch, d):
    rows, radii, *rest = _levels(device, heads, groups, tops, branch, 3, d)
    q, own, least, scaling = rest

    def run():
        out = torch.zeros(len(q), tops * branch**2, device=device)
        file.three_level_filter_kernel_v1_batched[(tops, len(q))](
            rows[0], rows[1], radii[0], rows[2], radii[1], q, own, out, least, scaling,
            *rows[0].stride()[:2], *rows[1].stride()[:2], *radii[0].stride(),
            *rows[2].stride()[:2], *radii[1].stride(), *q.stride(), *out.stride(), 1, 1, 1,
            n_cols=d, branch=branch, BLOCK_C=8,
        )  # fmt: skip
        return out

    return run, lambda: _found(rows, radii, *rest, branch)
