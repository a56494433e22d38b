"""Triton-Kernel-Test: the gradient of softmax."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Ther-nullptr/Triton-Kernel-Test", "3efbd2bff5f31b286cc4f4c2931841e04a186f10")  # fmt: skip


@repository.case("softmax_backward.py", "triton_softmax_backward_kernel", small=dict(b=2, heads=2, n=64), production=dict(b=2, heads=16, n=1024), rtol=2e-2, atol=1e-3)  # fmt: skip
def gradient(file, device, b, heads, n):
    y = tm.normal(b, heads, n, n, device=device).softmax(-1).bfloat16()
    g = tm.normal(b, heads, n, n, device=device, dtype=torch.bfloat16)

    def want():
        p, upstream = y.double(), g.double()
        return (upstream - (p * upstream).sum(-1, keepdim=True)) * p

    return lambda: file.triton_softmax_backward(y, g), want
