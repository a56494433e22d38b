"""benjaminW2025's kernels of a transformer."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("benjaminW2025/transformer-kernels", "918eee1c39d5126e2e9717a2c8da5d3a5a00b02f")  # fmt: skip


@repository.case("kernels/fused_causal_softmax.py", "online_softmax", small=dict(b=2, h=3, n=65), production=dict(b=2, h=8, n=2048), rtol=1e-5, atol=1e-6)  # fmt: skip
def causal_softmax(file, device, b, h, n):
    x = tm.normal(b, h, n, n, device=device)

    def want():
        visible = torch.ones(n, n, dtype=torch.bool, device=device).tril()
        return x.double().masked_fill(~visible, float("-inf")).softmax(-1)

    return lambda: file.causal_softmax(x), want


@repository.case("kernels/fused_rms.py", "fused_rms_norm", small=dict(m=20, n=700), production=dict(m=16384, n=4096), rtol=1e-2, atol=1e-2)  # fmt: skip
def rms_norm(file, device, m, n):
    x, weight = (tm.normal(*s, device=device, dtype=torch.float16) for s in ((m, n), (n,)))
    return lambda: file.rms_norm(x, weight), lambda: tm.rms_norm(x, weight, 1e-6)


@repository.case("kernels/rope.py", "rope_kernel", small=dict(b=2, h=3, n=65, d=100), production=dict(b=4, h=32, n=2048, d=128), rtol=1e-3, atol=2e-3)  # fmt: skip
def rope(file, device, b, h, n, d):
    """The angles are computed in float32, so those of far tokens are less exact."""
    x = tm.normal(b, h, n, d, device=device)

    def want():
        steps = torch.arange(n, device=device, dtype=torch.float64)
        powers = torch.arange(d // 2, device=device, dtype=torch.float64) / (d // 2)
        angles = steps[:, None] * 10000**-powers
        return tm.rotated(x, angles.cos(), angles.sin(), interleaved=True)

    return lambda: file.rope(x), want
