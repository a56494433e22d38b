"""tejkas' Triton-Flash-Attention: attention and its gradients, with block pointers."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("tejkas/Triton-Flash-Attention", "9ea4762d8db988a9faee8a18818852a8901f0d37")
KERNELS = "_attn_fwd_kernel, _attn_bwd_preprocess, _attn_bwd_dkdv, _attn_bwd_dq"


def _case(file, device, b, heads, n, d, dtype, causal):
    *qkv, upstream = (tm.normal(b, heads, n, d, device=device, dtype=dtype) for _ in range(4))
    return (
        lambda: tm.with_gradients(
            lambda q, k, v: file.flash_attention(q, k, v, causal=causal), upstream, *qkv
        ),
        lambda: tm.with_gradients(
            lambda q, k, v: tm.attention(q, k, v, causal=causal)[0], upstream, *qkv, exact=True
        ),
    )


@repository.case("flash_attn.py", KERNELS, small=dict(b=1, heads=2, n=256, d=32), production=dict(b=2, heads=16, n=2048, d=64), rtol=2e-2, atol=2e-2)  # fmt: skip
def causal(file, device, b, heads, n, d):
    return _case(file, device, b, heads, n, d, torch.float16, True)


@repository.case("flash_attn.py", KERNELS, small=dict(b=1, heads=2, n=256, d=32), production=dict(b=2, heads=16, n=2048, d=128), rtol=3e-2, atol=3e-2)  # fmt: skip
def all_keys(file, device, b, heads, n, d):
    return _case(file, device, b, heads, n, d, torch.bfloat16, False)
