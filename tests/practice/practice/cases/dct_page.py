"""DCT pages: keys of a page compressed to a few, scores of pages, the best of them, and a cache
put together of whole and compressed pages."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Yoongon-Kim/DCT-Page", "f1a2be4eda116e6f0cdf62b9ad5ef9eddcf9a9ea")
FILE = "triton_kernels.py"
BF16 = torch.bfloat16


def _scores(file, device, within, among, b, heads, groups, pages, c, d):
    q = tm.normal(b, heads * groups, 1, d, device=device, dtype=BF16)
    keys = tm.normal(b, heads, pages, c, d, device=device, dtype=BF16)

    def want():
        query = q.double().view(b, heads, groups, d)
        each = torch.einsum("bhgd,bhpcd->bhgpc", query, keys.double()) * d**-0.5
        pages = each.amax(-1) if within == "max" else each.mean(-1)
        return pages.amax(2) if among == "max" else pages.mean(2)

    return lambda: file.score_pages_triton(q, keys, within, among, groups), want


SIZES = dict(
    small=dict(b=2, heads=2, groups=2, pages=50, c=2, d=48),
    production=dict(b=8, heads=8, groups=4, pages=2040, c=4, d=128),
)


@repository.case(FILE, "_score_pages_fused_kernel", rtol=1e-4, atol=1e-4, **SIZES)
def mean_scores(file, device, **sizes):
    return _scores(file, device, "mean", "max", **sizes)


@repository.case(FILE, "_score_pages_max_max_kernel", rtol=1e-4, atol=1e-4, **SIZES)
def largest_scores(file, device, **sizes):
    return _scores(file, device, "max", "max", **sizes)


@repository.case(
    FILE,
    "_topk_sort_and_pack_kernel",
    rtol=0,
    atol=0,
    small=dict(b=3, heads=2, pages=100, k=8),
    production=dict(b=64, heads=8, pages=1020, k=64),
)
def best_pages_packed(file, device, b, heads, pages, k):
    """After two pages of sinks, and before the last three pages."""
    scores = tm.normal(b, heads, pages, device=device)
    last = tm.integers(pages, pages + 5, b, device=device, dtype=torch.int32)
    recent = torch.arange(-3, 0, dtype=torch.int32).to(device)

    def run():
        packed = torch.full((b, heads, 2 + k + 3), -7, dtype=torch.int32, device=device)
        return file.topk_sort_and_pack_triton(scores, packed, 2, k, last, recent)

    def want():
        best = scores.topk(k).indices + 2
        tail = (last[:, None] + recent)[:, None].expand(b, heads, 3)
        return torch.cat([torch.full_like(best[..., :2], -7), best, tail], -1)

    return run, want


@repository.case(
    FILE,
    "_topk_local_kernel, _topk_merge_kernel",
    rtol=0,
    atol=0,
    small=dict(b=2, heads=2, pages=300, k=8),
    production=dict(b=32, heads=8, pages=8000, k=64),
)
def best_pages_in_two_stages(file, device, b, heads, pages, k):
    scores = tm.normal(b, heads, pages, device=device)
    return (
        lambda: file.topk_sort_twostage_triton(scores, k),
        lambda: scores.topk(k).indices.sort(-1).values,
    )


# The stored halves round.
@repository.case(
    FILE,
    "_copy_full_segments_kernel, _copy_unselected_pages_kernel",
    rtol=1e-2,
    atol=1e-3,
    small=dict(heads=2, groups=2, pages=20, page=32, c=4, d=64, k=5, sink=32, recent=40),
    production=dict(heads=8, groups=4, pages=8000, page=32, c=4, d=128, k=256, sink=32, recent=64),
)
def cache_of_mixed_pages(file, device, heads, groups, pages, page, c, d, k, sink, recent):
    """Chosen pages are there as a whole, the others compressed; keys and the query turned by where
    they then are."""
    whole, small, first, last = (
        [tm.normal(1, heads, *shape, d, device=device, dtype=BF16) for _ in range(2)]
        for shape in ((pages, page), (pages, c), (sink,), (recent,))
    )
    q = tm.normal(1, heads * groups, 1, d, device=device, dtype=BF16)
    chosen = torch.stack([torch.randperm(pages)[:k].sort().values for _ in range(heads)])
    chosen = chosen[None].to(torch.int32).to(device)
    total = sink + k * page + (pages - k) * c + recent
    speeds = 10000.0 ** (-torch.arange(0, d, 2) / d)
    angles = (torch.arange(total)[:, None] * speeds).to(device)
    cos, sin = angles.cos(), angles.sin()
    both = [torch.cat([x, x], -1).contiguous() for x in (cos, sin)]

    def run():
        return file.assemble_kv_split_triton(
            *whole, *small, *first, *last, chosen, *both,
            query_states=q, q_rope_cos=both[0][-1], q_rope_sin=both[1][-1],
        )  # fmt: skip

    def order(part, head):
        """All rows of keys or values of a head."""
        full = torch.zeros(pages, dtype=torch.bool, device=device)
        full[chosen[0, head].long()] = True
        lengths = torch.where(full, page, c)
        begins = lengths.cumsum(0) - lengths
        out = torch.empty(int(lengths.sum()), d, dtype=torch.float64, device=device)
        for mask, rows in ((full, whole[part]), (~full, small[part])):
            rows = rows[0, head][mask].double()
            places = begins[mask][:, None] + torch.arange(rows.shape[1], device=device)
            out[places.flatten()] = rows.flatten(0, 1)
        ends = first[part][0, head].double(), last[part][0, head].double()
        return torch.cat([ends[0], out, ends[1]])

    def want():
        keys, values = (torch.stack([order(i, h) for h in range(heads)])[None] for i in range(2))
        return tm.rotated(keys, cos, sin), values, tm.rotated(q, cos[-1], sin[-1])

    return run, want


@repository.case(
    FILE,
    "_compress_pages_kernel",
    rtol=1e-2,
    atol=1e-3,
    small=dict(b=2, heads=2, n=5, page=16, c=2, d=48),
    production=dict(b=4, heads=8, n=1024, page=32, c=4, d=128),
)
def compressed_pages(file, device, b, heads, n, page, c, d):
    pages = tm.normal(b, heads, n, page, d, device=device, dtype=BF16)
    matrix = tm.normal(c, page, device=device, scale=page**-0.5)
    return (
        lambda: file.compress_pages_triton(pages, matrix),
        lambda: torch.einsum("cs,bhnsd->bhncd", matrix.double(), pages.double()),
    )
