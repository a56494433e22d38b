"""Go, Llama, go: the norm, the rotation and the attention of a small engine."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("TomMao23/go-llama-go", "80f4858d6f452bb9300cbd87d72b71e57711414e")
BF16 = torch.bfloat16


# A sum decides how a number in bfloat16 is rounded before it is turned.
@repository.case(
    "kernels.py",
    "_rms_norm_kernel, _rotary_kernel",
    rtol=1e-2,
    atol=1e-3,
    share=1e-5,
    small=dict(b=2, t=9, heads=3, d=48),
    production=dict(b=4, t=2048, heads=32, d=128),
)
def norm_and_rotation(file, device, b, t, heads, d):
    x = tm.normal(b, t, heads * d, device=device, dtype=BF16)
    weight = tm.normal(heads * d, device=device, dtype=BF16)
    angles = torch.arange(t)[:, None] * 10000.0 ** (-torch.arange(0, d, 2) / d)
    cos, sin = angles.cos().to(device), angles.sin().to(device)

    def run():
        rows = file.rms_norm_triton(x, weight, 1e-5)
        turned = rows.clone().view(b, t, heads, d)
        return rows, file.apply_rotary_pos_emb_triton(turned, cos, sin)

    def want():
        rows = tm.rms_norm(x, weight, 1e-5)
        each = rows.to(BF16).view(b, t, heads, d)
        return rows, tm.rotated(each, cos[:, None], sin[:, None])

    return run, want


@repository.case(
    "kernels.py",
    "_flash_attn_fwd_kernel",
    rtol=1e-2,
    atol=1e-2,
    small=dict(b=1, heads=2, t=200, d=32),
    production=dict(b=1, heads=32, t=2048, d=128),
)
def causal_attention(file, device, b, heads, t, d):
    q, k, v = (tm.normal(b, heads, t, d, device=device, dtype=BF16) for _ in range(3))
    return (
        lambda: file.flash_attention_triton(q, k, v),
        lambda: tm.attention(q, k, v, causal=True)[0],
    )
