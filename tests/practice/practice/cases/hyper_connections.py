"""Hyper-connections: matrices between streams, made doubly stochastic by steps of Sinkhorn."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("lucidrains/hyper-connections", "47751035f6e92f73121f1da56603f0d410115799", packages={"hyper_connections": "."})  # fmt: skip
FILE = "hyper_connections/triton_sinkhorn.py"


def _doubly_stochastic(logs, steps):
    x = logs.double()
    for _ in range(steps):
        x = x - x.logsumexp(-2, keepdim=True)
        x = x - x.logsumexp(-1, keepdim=True)
    return x.exp()


@repository.case(FILE, "sinkhorn_kernel_forward_log", rtol=1e-4, atol=1e-6, small=dict(b=3, t=5, m=4), production=dict(b=2, t=4096, m=4))  # fmt: skip
def streams(file, device, b, t, m):
    """Few streams, of each token."""
    logs = tm.normal(b, t, m, m, device=device, scale=2.0)
    return (
        lambda: file.TritonSinkhornFunction.apply(logs, 20),
        lambda: _doubly_stochastic(logs, 20),
    )


@repository.case(FILE, "sinkhorn_kernel_forward_log", rtol=1e-4, atol=1e-6, small=dict(b=2, m=50, n=41), production=dict(b=2048, m=120, n=120))  # fmt: skip
def permutations(file, device, b, m, n):
    logs = tm.normal(b, m, n, device=device)
    return (
        lambda: file.TritonSinkhornFunction.apply(logs, 10),
        lambda: _doubly_stochastic(logs, 10),
    )


@repository.case(FILE, "sinkhorn_kernel_forward_log, sinkhorn_kernel_backward_log", rtol=1e-3, atol=1e-5, small=dict(b=3, m=12), production=dict(b=16384, m=24))  # fmt: skip
def gradient_of_streams(file, device, b, m):
    """The gradient goes back through steps that no longer change the matrix."""
    logs, up = tm.normal(b, m, m, device=device), tm.normal(b, m, m, device=device)

    def run():
        leaf = logs.clone().requires_grad_()
        out = file.TritonSinkhornFunction.apply(leaf, 10)
        return out.detach(), torch.autograd.grad(out, leaf, up)[0]

    def want():
        p, g = _doubly_stochastic(logs, 10), up.double()
        for _ in range(10):
            g = g - (g * p).sum(-1, keepdim=True)
            g = g - (g * p).sum(-2, keepdim=True)
        return p, g * p

    return run, want
