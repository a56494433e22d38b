"""Attention of an image's patches, which the kernels turn along both axes, forward and backward."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "v1kstrand/triton_fused_rope_flash_attn", "984c03924c8de44d549cd049baafc0ab568e18d1"
)
KERNELS = "_attn_fwd, _attn_bwd_preprocess, _attn_bwd_dk_dv_rope, _attn_bwd_dq_rope"


@repository.case(
    "fa_rope_full .py",
    KERNELS,
    rtol=2e-2,
    atol=2e-2,
    share=1e-3,
    small=dict(b=1, heads=2, d=32),
    production=dict(b=64, heads=12, d=64),
)
def attention_of_patches(file, device, b, heads, d):
    """14 times 14 patches, and the token of the class before them; the first configuration of the
    72 that the file would try."""
    for name in KERNELS.split(", "):
        kernel = getattr(file, name)
        kernel.configs = kernel.configs[:1]
    q, k, v, up = (
        tm.normal(b, heads, 197, d, device=device, dtype=torch.float16) for _ in range(4)
    )
    turns = file.CosSinTable(100.0, 14, d, device=device)
    cos, sin = turns.tables()

    def turned(x):
        return torch.cat([x[:, :, :1], tm.rotated(x[:, :, 1:], cos, sin, interleaved=True)], 2)

    return (
        lambda: tm.with_gradients(
            lambda q, k, v: file.sdpa_triton_fa_rope(q, k, v, turns), up, q, k, v
        ),
        lambda: tm.with_gradients(
            lambda q, k, v: tm.attention(turned(q), turned(k), v)[0], up, q, k, v, exact=True
        ),
    )
