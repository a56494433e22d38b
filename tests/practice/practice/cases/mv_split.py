"""MV-Split: a residual stream whose mean and deviations from it get different weights, normed, for
two segments of tokens."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("erwold/mv-split", "2ab9ddfc3781e0c8054d694810f7a9772ee16991", packages={"kernels": "."})  # fmt: skip
FILE = "kernels/fused_mvsplit_rmsnorm.py"


def _inputs(device, b, t, d):
    x, u = (tm.normal(b, t, d, device=device) for _ in range(2))
    return x, u, torch.rand(d).to(device), torch.rand(d).to(device)


def _split(x, u, alpha, beta, first):
    parts = []
    for a, b in zip(x.split([first, x.shape[1] - first], 1), u.split([first, u.shape[1] - first], 1), strict=True):  # fmt: skip
        if a.shape[1]:
            mean, other = b.mean(1, keepdim=True), a.mean(1, keepdim=True)
            parts.append(a + beta * (b - mean) + alpha * (mean - other))
    return tm.rms_norm(torch.cat(parts, 1), None, 1e-6)


@repository.case(FILE, "_fwd_kernel, _mvsplit_fwd_logic", rtol=1e-4, atol=1e-4, small=dict(b=2, t=20, d=200), production=dict(b=4, t=4096, d=3072))  # fmt: skip
def normed_sum(file, device, b, t, d):
    x, u, alpha, beta = _inputs(device, b, t, d)
    return (
        lambda: file.fused_mvsplit_rmsnorm(x, u, alpha, beta, 1e-6, None),
        lambda: _split(*(v.double() for v in (x, u, alpha, beta)), t),
    )


@repository.case(FILE, "_fwd_kernel, _mvsplit_fwd_logic, _bwd_pass_a_kernel, _bwd_pass_b_kernel", rtol=1e-3, atol=1e-3, small=dict(b=2, t=40, d=150, first=25), production=dict(b=4, t=2048, d=3072, first=1600))  # fmt: skip
def normed_sum_gradients(file, device, b, t, d, first):
    inputs = _inputs(device, b, t, d)
    up = tm.normal(b, t, d, device=device, scale=0.1)
    return (
        lambda: tm.with_gradients(
            lambda *v: file.fused_mvsplit_rmsnorm(*v, 1e-6, first), up, *inputs
        ),
        lambda: tm.with_gradients(lambda *v: _split(*v, first), up, *inputs, exact=True),
    )
