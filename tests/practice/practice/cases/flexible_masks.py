"""Triton-Flash-Attention-with-Flexible-Masks: attention and its gradients, with documents."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("zzsfornlp/Triton-Flash-Attention-with-Flexible-Masks", "686f598c7452a5740f176bcaad281d4b0bc35545")  # fmt: skip
FILE = "flash_triton.py"
KERNELS = "_fwd_kernel, _bwd_preprocess, _bwd_kv_kernel, _bwd_q_kernel"


def _inputs(b, heads, kv_heads, n, d, device):
    return [
        tm.normal(b, h, n, d, device=device, dtype=torch.float16)
        for h in (heads, kv_heads, kv_heads, heads)
    ]


@repository.case(FILE, KERNELS, small=dict(b=1, heads=2, kv_heads=1, n=96, d=32), production=dict(b=2, heads=16, kv_heads=4, n=2048, d=64), rtol=2e-2, atol=2e-2)  # fmt: skip
def attention(file, device, b, heads, kv_heads, n, d):
    *qkv, upstream = _inputs(b, heads, kv_heads, n, d, device)
    return (
        lambda: tm.with_gradients(lambda q, k, v: file.attention(q, k, v, True), upstream, *qkv),
        lambda: tm.with_gradients(
            lambda q, k, v: tm.attention(q, k, v, causal=True)[0], upstream, *qkv, exact=True
        ),
    )


@repository.case(FILE, KERNELS, small=dict(b=2, heads=2, n=96, d=32), production=dict(b=2, heads=16, n=2048, d=64), rtol=2e-2, atol=2e-2)  # fmt: skip
def documents(file, device, b, heads, n, d):
    """Queries with a negative number see the keys that have it, the last ones see all."""
    *qkv, upstream = _inputs(b, heads, heads, n, d, device)
    number = torch.arange(n) // (n // 4) - 3
    number = number.expand(b, heads, n).to(torch.int32).contiguous().to(device)

    def want(q, k, v):
        seen = (number[..., None] >= 0) | (number[..., None] == number[..., None, :])
        bias = torch.zeros_like(seen, dtype=torch.float64).masked_fill(~seen, -torch.inf)
        return tm.attention(q, k, v, causal=True, bias=bias)[0]

    def attention(q, k, v):
        return file.attention(q, k, v, True, None, number, number, file.SCORE_FUNC_MODE1_DOC)

    return (
        lambda: tm.with_gradients(attention, upstream, *qkv),
        lambda: tm.with_gradients(want, upstream, *qkv, exact=True),
    )
