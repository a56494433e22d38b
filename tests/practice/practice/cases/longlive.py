"""LongLive: adaptive layer norm, RoPE of a prefix, and rounding to blocks of FP4."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("NVlabs/LongLive", "7860ad9685686bc3edfd407eb4d12579ca47d689")
BF16 = torch.bfloat16


@repository.case("utils/adaln_triton.py", "_adaln_modulate_kernel", small=dict(b=2, f=3, n=5, c=300), production=dict(b=1, f=21, n=1560, c=1536), rtol=2e-2, atol=3e-2)  # fmt: skip
def modulated_layer_norm(file, device, b, f, n, c):
    x = tm.normal(b, f * n, c, device=device, dtype=BF16)
    scale, shift = tm.normal(2, b, f, 1, c, device=device, dtype=BF16)
    y = tm.layer_norm(x, None, None, 1e-6).unflatten(1, (f, n))
    return (
        lambda: file.adaln_modulate_triton(x, scale, shift, n),
        lambda: (y * (1 + scale.double()) + shift.double()).flatten(1, 2),
    )


@repository.case("utils/rope_triton.py", "_rope_apply_kernel", small=dict(n=9, rotated=7, h=3, d=32), production=dict(n=32760, rotated=31200, h=12, d=128), rtol=1e-2, atol=1e-2)  # fmt: skip
def rope(file, device, n, rotated, h, d):
    x = tm.normal(n, h, d, device=device, dtype=BF16)
    angles = torch.rand(rotated, d // 2).to(device) * 6
    cos, sin = angles.cos(), angles.sin()

    def want():
        head = tm.rotated(x[:rotated], cos[:, None], sin[:, None], interleaved=True)
        return torch.cat([head, x[rotated:].double()])

    return lambda: file.rope_apply_triton(x, cos, sin, rotated), want


@repository.case("utils/nvfp4_kernel.py", "static_blockwise_fp4_fake_quant_kernel", small=dict(n=50), production=dict(n=1 << 20), rtol=1e-2)  # fmt: skip
def fake_fp4(file, device, n):
    x = tm.normal(n, 16, device=device, dtype=BF16)
    largest = x.abs().amax(1)
    levels = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6], device=device)

    def want():
        scale = largest[:, None].float() / 6
        scaled = x.abs().float() / scale
        half, odd = (levels[1:] + levels[:-1]) / 2, torch.arange(7, device=device) % 2
        above = (scaled[..., None] > half) | ((scaled[..., None] == half) & (odd == 1))
        return levels[above.sum(-1)].double() * scale.double() * torch.where(x >= 0, 1, -1)

    return lambda: file.static_blockwise_fp4_fake_quant(x, largest, None, False), want
