"""Spotlight: vectors packed as the signs of their elements, and the number of bits in which a query
and keys agree, to choose the keys that attention reads."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("wenhaoli-xmu/spotlight", "c9c80488e5ea75f6aeabf9556ab9517f5822d415")
FOLDER = "spotlight/kernel/"

for _bits in (32, 8):

    @repository.case(f"{FOLDER}pack_dx_u{_bits}.py", f"pack_dx_u{_bits}_kernel", small=dict(n=70, d=64), production=dict(n=1 << 20, d=128), rtol=0, atol=0, name=f"packed_{_bits}")  # fmt: skip
    def packed(file, device, n, d, bits=_bits):
        x = tm.normal(n, d, device=device)

        def want():
            signs = (x > 0).unflatten(-1, (-1, bits)).long()
            return (signs << torch.arange(bits, device=device)).sum(-1)

        return lambda: getattr(file, f"pack_dx_u{bits}_func")(x).to(torch.int64), want


@repository.case(f"{FOLDER}attn_dx_u32.py", "dx_u32_kernel", small=dict(b=2, n=70, heads=4, kv=2, words=2), production=dict(b=8, n=131072, heads=32, kv=8, words=4), rtol=0, atol=0)  # fmt: skip
def agreement(file, device, b, n, heads, kv, words):
    """Of the queries that share a key; heads that share one are apart in memory."""
    query, key = (
        tm.integers(0, 1 << 32, b, m, h, words, device=device) for m, h in ((1, heads), (n, kv))
    )

    def want():
        out = torch.zeros(b, n, kv, dtype=torch.int64, device=device)
        for q in query.split(kv, 2):
            differs = q ^ key
            for bit in range(32):
                out += (1 - (differs >> bit & 1)).sum(-1)
        return out

    return (
        lambda: file.attn_dx_u32_func(query.to(torch.uint32), key.to(torch.uint32)),
        want,
    )
