"""Palu: scores of a query with keys of low rank, rebuilt and rotated on the way."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "shadowpa0327/Palu", "bb22666e2ef96707e8dd21d93fc00146c2e0d615",
    packages={"kernel": "."},
)  # fmt: skip


@repository.case("kernel/abx_rope.py", "_abx_fwd, get_freq_multi_tokens", small=dict(m=64, groups=8, rank=64), production=dict(m=65536, groups=8, rank=256), rtol=5e-2, atol=5e-2)  # fmt: skip
def scores(file, device, m, groups, rank):
    half = torch.float16
    a = tm.normal(32, 1, 128, device=device, dtype=half, scale=0.1)
    b = tm.normal(32, rank, 128, device=device, dtype=half, scale=rank**-0.5)
    x = tm.normal(groups, m, rank, device=device, dtype=half)

    def want():
        keys = x.double().repeat_interleave(32 // groups, 0) @ b.double()
        turns = torch.arange(m)[:, None] / 10000.0 ** (torch.arange(64) / 64)
        keys = tm.rotated(keys, *(f(turns.double()).to(device) for f in (torch.cos, torch.sin)))
        return a.double() @ keys.mT

    return lambda: file.abx(a, b, x), want
