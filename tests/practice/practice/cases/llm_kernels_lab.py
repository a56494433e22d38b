"""Kernels of a language model: attention in tiles, RoPE of pairs, a norm of a sum."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("jiakangkangfuzhe/triton-llm-kernels-lab", "43afb27a648ff1c201296adaf550b2cfdd3a8e55", packages={"kernels": "."})  # fmt: skip
HALF = torch.float16


@repository.case("kernels/flash_attention_tiled.py", "_flash_attn_fwd_kernel_bh", rtol=1e-2, atol=1e-2, small=dict(b=1, h=2, t=70, d=40), production=dict(b=2, h=16, t=2048, d=64))  # fmt: skip
def attention(file, device, b, h, t, d):
    q, k, v = (tm.normal(b, h, t, d, device=device, dtype=HALF) for _ in range(3))
    return (
        lambda: file.attention_triton_tiled(q, k, v),
        lambda: tm.attention(q, k, v, causal=True)[0],
    )


@repository.case("kernels/rope.py", "_rope_kernel", rtol=2e-3, atol=2e-3, small=dict(b=2, t=9, h=3, d=20), production=dict(b=4, t=4096, h=32, d=128))  # fmt: skip
def rope(file, device, b, t, h, d):
    x = tm.normal(b, t, h, d, device=device, dtype=HALF)
    cos, sin = file.build_rope_cache(t, d, torch.device(device), torch.float32)
    return (
        lambda: file.rope_triton(x, cos, sin),
        lambda: tm.rotated(x, cos[:, None], sin[:, None], interleaved=True),
    )


@repository.case("kernels/fused_residual_rmsnorm.py", "_fused_kernel", rtol=2e-3, atol=2e-3, small=dict(n=9, d=300), production=dict(n=16384, d=4096))  # fmt: skip
def norm_of_sum(file, device, n, d):
    x, other = (tm.normal(n, d, device=device, dtype=HALF) for _ in range(2))
    weight = torch.rand(d).half().to(device)
    return (
        lambda: file.fused_residual_rmsnorm_triton(x, other, weight),
        lambda: (tm.rms_norm(x.double() + other, weight, 1e-6), x.double() + other.double()),
    )
