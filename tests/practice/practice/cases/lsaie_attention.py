"""lsaie-ss26-gipfelsturm: causal attention and its gradients in bfloat16."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Zeltrxn2333/lsaie-ss26-gipfelsturm", "7644e9165c635db5c497e8b6540a94f0b333de4d")  # fmt: skip


@repository.case("kernels/triton_attention.py", "_attn_fwd, _attn_bwd_preprocess, _attn_bwd", small=dict(b=1, heads=2, n=256, d=64), production=dict(b=2, heads=16, n=2048, d=128), rtol=3e-2, atol=3e-2)  # fmt: skip
def attention(file, device, b, heads, n, d):
    *qkv, upstream = (
        tm.normal(b, heads, n, d, device=device, dtype=torch.bfloat16) for _ in range(4)
    )
    return (
        lambda: tm.with_gradients(
            lambda q, k, v: file.triton_attention(q, k, v, True, d**-0.5), upstream, *qkv
        ),
        lambda: tm.with_gradients(
            lambda q, k, v: tm.attention(q, k, v, causal=True)[0], upstream, *qkv, exact=True
        ),
    )
