"""Parth-Badgujar's gpu-kernels: attention, and a layer norm of images, a program for each."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Parth-Badgujar/gpu-kernels", "70110bc887a1e9b50af806b857724e0c5096b478")


@repository.case("attention/attention_triton.py", "_flash_attention_v2", small=dict(b=2, heads=2, n=128, d=64), production=dict(b=1, heads=16, n=4096, d=64), rtol=2e-2, atol=1e-2)  # fmt: skip
def attention(file, device, b, heads, n, d):
    q, k, v = (tm.normal(b, heads, n, d, device=device, dtype=torch.bfloat16) for _ in range(3))
    return lambda: file.flash_attention_v2_triton(q, k, v), lambda: tm.attention(q, k, v)[0]


@repository.case("layer_norm/layer_norm_bench.py", "_layer_norm_simple", small=dict(b=3, shape=(4, 32, 64)), production=dict(b=512, shape=(64, 32, 32)), rtol=1e-4, atol=1e-4)  # fmt: skip
def layer_norm(file, device, b, shape):
    """Epsilon is added twice."""
    x, weight, bias = (tm.normal(*s, device=device) for s in ((b, *shape), shape, shape))

    def want():
        y = x.double().flatten(1)
        y = (y - y.mean(1, keepdim=True)) / (y.var(1, keepdim=True, correction=0) + 2e-5).sqrt()
        return y.view(x.shape) * weight.double() + bias.double()

    return lambda: file.layer_norm_triton(x, weight, bias), want
