"""Kernels for training Qwen 2: cross entropy, the norm, and the gated unit."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "susovanpatra00/qwen2-triton-training", "ae1205270afbf674f127e08f00f23fa3c4f45617"
)
BF16 = torch.bfloat16


@repository.case(
    "kernels/cross_entropy.py",
    "_cross_entropy_fwd_kernel, _cross_entropy_bwd_kernel",
    rtol=1e-4,
    atol=1e-5,
    small=dict(n=20, v=5000),
    production=dict(n=1024, v=151936),
)
def cross_entropy(file, device, n, v):
    logits = tm.normal(n, v, device=device, scale=2.0)
    labels = tm.integers(0, v, n, device=device)
    labels[::5] = -100
    up = torch.tensor(float(n)).to(device)
    return (
        lambda: tm.with_gradients(lambda x: file.fused_cross_entropy(x, labels), up, logits),
        lambda: tm.with_gradients(lambda x: F.cross_entropy(x, labels), up, logits, exact=True),
    )


@repository.case(
    "kernels/rms_norm.py",
    "_rms_norm_fwd_kernel, _rms_norm_bwd_dx_kernel, _rms_norm_bwd_dw_kernel",
    rtol=2e-2,
    atol=1e-2,
    small=dict(n=50, d=1500),
    production=dict(n=8192, d=3584),
)
def rms_norm(file, device, n, d):
    x, up = (tm.normal(n, d, device=device, dtype=BF16) for _ in range(2))
    weight = tm.normal(d, device=device)
    return (
        lambda: tm.with_gradients(lambda x, w: file.rms_norm(x, w, 1e-6), up, x, weight),
        lambda: tm.with_gradients(lambda x, w: tm.rms_norm(x, w, 1e-6), up, x, weight, exact=True),
    )


@repository.case(
    "kernels/swiglu.py",
    "_swiglu_fwd_kernel, _swiglu_bwd_kernel, _silu, _silu_grad",
    rtol=1e-2,
    atol=1e-3,
    small=dict(n=20, d=3000),
    production=dict(n=8192, d=18944),
)
def gated_unit(file, device, n, d):
    gate, x, up = (tm.normal(n, d, device=device, dtype=BF16) for _ in range(3))
    return (
        lambda: tm.with_gradients(file.swiglu, up, gate, x),
        lambda: tm.with_gradients(lambda a, b: F.silu(a) * b, up, gate, x, exact=True),
    )
