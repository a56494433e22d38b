"""E-graph attention: attention that reads the keys two or three times, with no running maximum."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Allenjin123/egraph_attention", "14db2bfb77a2d6f3f311a3e67b492726d43d8d00")
SIZES = dict(small=dict(b=2, heads=2, t=100, d=48), production=dict(b=2, heads=16, t=2048, d=128))


def _inputs(b, heads, t, d, device):
    return [tm.normal(b, heads, t, d, device=device, dtype=torch.float16) for _ in range(3)]


@repository.case("triton_attention.py", "_truly_naive_attention_kernel", rtol=1e-2, atol=5e-3, **SIZES)  # fmt: skip
def three_passes(file, device, b, heads, t, d):
    q, k, v = _inputs(b, heads, t, d, device)
    return (
        lambda: file.triton_truly_naive_attention(q, k, v, causal=True),
        lambda: tm.attention(q, k, v, causal=True)[0],
    )


@repository.case("generated_hybrid_2pass.py", "_attention_2pass_kernel", rtol=1e-2, atol=5e-3, **SIZES)  # fmt: skip
def two_passes(file, device, b, heads, t, d):
    q, k, v = _inputs(b, heads, t, d, device)
    return lambda: file.egg_attention_hybrid_2pass(q, k, v), lambda: tm.attention(q, k, v)[0]
