"""xDiT: which blocks of keys attention needs: means and likeness of blocks, and maps of blocks."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("xdit-project/xDiT", "175e0bfec974d0b44a0be9fa511df2f9f5ead080")
FILE = "xfuser/core/sparge_attention/block_mask.py"


@repository.case(FILE, "triton_bmm_pool_sim_simmean", small=dict(b=1, heads=3, n=300, d=64), production=dict(b=2, heads=24, n=16384, d=128), rtol=1e-2, atol=1e-3)  # fmt: skip
def means_and_likeness(file, device, b, heads, n, d):
    """Half of the blocks have rows that are alike."""
    size = 64
    x = tm.normal(b, heads, n, d, device=device)
    alike = torch.arange(n, device=device) // size % 2 == 0
    x = torch.where(alike[:, None], x[..., :1, :] + x / 4, x).half()
    threshold = torch.full((heads,), 0.5, device=device)

    def want():
        parts = x.double().split(size, 2)
        unit = [part / part.norm(dim=-1, keepdim=True) for part in parts]
        likeness = torch.stack([part.mean(2).square().sum(-1) for part in unit], 2)
        return torch.stack([part.mean(2) for part in parts], 2), likeness > 0.5

    return lambda: file.get_pool_sim_triton_simmean(x, size, threshold), want


@repository.case(FILE, "triton_fill_causal_mask", small=dict(n=12, ratio=2), production=dict(n=1024, ratio=2), rtol=0, atol=0)  # fmt: skip
def causal_map(file, device, n, ratio):
    """The blocks of keys are half as long as those of queries."""

    def run():
        mask = torch.empty(n, n * ratio, dtype=torch.bool, device=device)
        return file.fill_causal_mask_triton(mask, ratio)

    def want():
        q, k = torch.arange(n, device=device)[:, None], torch.arange(n * ratio, device=device)
        return k < (q + 1) * ratio

    return run, want


@repository.case(FILE, "triton_fill_block_map_kernel", small=dict(b=1, heads=2, q=10, k=12), production=dict(b=2, heads=24, q=256, k=512), rtol=0, atol=0)  # fmt: skip
def chosen_blocks(file, device, b, heads, q, k):
    """At least one is chosen."""
    order = torch.rand(b, heads, q, k).argsort(-1).to(device)
    count = tm.integers(0, k // 2, b, heads, q, device=device)
    count[0, 0, 0] = 0

    def run():
        empty = torch.zeros(b, heads, q, k, dtype=torch.bool, device=device)
        return file.fill_block_map_triton(empty, count, order)

    return run, lambda: order.argsort(-1) < count.clamp(min=1)[..., None]
