"""Lightserve: the norm of a sum, and attention with its gradients."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("sairameshpv/lightserve", "7d4eecc359d57abccda701ab76a914f03a2a7024")
HALF = torch.float16


@repository.case(
    "kernels/fused_rmsnorm_residual.py",
    "_fused_add_rmsnorm_kernel",
    rtol=2e-3,
    atol=2e-3,
    small=dict(n=20, d=700),
    production=dict(n=16384, d=4096),
)
def norm_of_a_sum(file, device, n, d):
    x, residual = (tm.normal(n, d, device=device, dtype=HALF) for _ in range(2))
    weight = tm.normal(d, device=device, dtype=HALF)

    def want():
        total = (x + residual).double()
        return tm.rms_norm(total, weight, 1e-6), total

    return lambda: file.fused_add_rmsnorm(x, residual, weight), want


@repository.case(
    "kernels/flash_attention_backward.py",
    "_flash_attn_fwd_lse_kernel, _flash_attn_bwd_preprocess_kernel, _flash_attn_bwd_kernel",
    rtol=1e-2,
    atol=1e-2,
    share=1e-3,
    small=dict(b=1, heads=2, t=100, d=48),
    production=dict(b=2, heads=16, t=2048, d=80),
)
def causal_attention(file, device, b, heads, t, d):
    q, k, v, up = (tm.normal(b, heads, t, d, device=device, dtype=HALF) for _ in range(4))
    return (
        lambda: tm.with_gradients(
            lambda q, k, v: file.flash_attention(q, k, v, causal=True), up, q, k, v
        ),
        lambda: tm.with_gradients(
            lambda q, k, v: tm.attention(q, k, v, causal=True)[0], up, q, k, v, exact=True
        ),
    )
