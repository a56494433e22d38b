"""Kalman linear attention: scans of Möbius and affine maps in tiles, and a filter in one kernel."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "vaisakh-shaj/kalman-linear-attention",
    "cb2a550b97f54f9482d05f7b63b6f1253c4e2409",
)
FOLDER = "src/kla/ops/kernels/triton/"


@repository.case(FOLDER + "fused_kla_scan.py", "_fused_fwd_kernel", rtol=1e-3, atol=1e-3, small=dict(b=2, n=100, m=3, s=6), production=dict(b=4, n=2048, m=1024, s=16))  # fmt: skip
def filter_in_one(file, device, b, n, m, s):
    x, precision = tm.normal(b, n, m, device=device), torch.rand(b, n, m).to(device)
    k, q = (tm.normal(b, n, s, device=device) for _ in range(2))
    decay, noise = torch.rand(m, s).to(device) * 0.2 + 0.8, torch.rand(m, s).to(device)
    first, state = torch.rand(b, m, s).to(device) + 0.5, tm.normal(b, m, s, device=device)

    def want():
        keys, queries, xs, ps, a, noises = (t.double() for t in (k, q, x, precision, decay, noise))
        lam, eta, ys, variances = first.double(), state.double(), [], []
        for t in range(n):
            key, query = keys[:, t, None], queries[:, t, None]
            alpha = a / (a * a + noises * lam)
            lam = lam / (a * a + noises * lam) + ps[:, t, :, None] * key**2
            eta = alpha * eta + xs[:, t, :, None] * key
            ys.append((query * eta / lam).sum(-1))
            variances.append((query**2 / lam).sum(-1))
        return torch.stack(ys, 1), torch.stack(variances, 1), lam, eta

    return lambda: file.fused_kla_forward(x, precision, k, q, decay, noise, first, state), want


@repository.case(FOLDER + "tiled_mobius_scan.py", "_tiled_mobius_fwd_kernel, _tiled_linear_fwd_kernel", rtol=1e-3, atol=1e-3, small=dict(b=2, n=150, m=3, s=6), production=dict(b=2, n=2048, m=256, s=16))  # fmt: skip
def moebius_scan(file, device, b, n, m, s):
    noise, phi, up = (torch.rand(b, n, m, s).to(device) for _ in range(3))
    a2, first = torch.rand(b, n, m, s).to(device) + 0.5, torch.rand(b, m, s).to(device) + 0.5
    maps = (1 + noise * phi) / a2, phi, noise / a2, torch.ones_like(phi)

    def right(a, b, c, d, lam):
        results = []
        for t in range(n):
            lam = (a[:, t] * lam + b[:, t]) / (c[:, t] * lam + d[:, t])
            results.append(lam)
        return torch.stack(results, 1)

    return (
        lambda: tm.with_gradients(file.tiled_mobius_scan, up, *maps, first),
        lambda: tm.with_gradients(right, up.double(), *maps, first, exact=True),
    )


@repository.case(FOLDER + "tiled_mobius_scan.py", "_tiled_linear_fwd_kernel", rtol=1e-3, atol=1e-3, small=dict(b=2, n=150, m=3, s=6), production=dict(b=2, n=2048, m=512, s=16))  # fmt: skip
def affine_scan(file, device, b, n, m, s):
    gain = torch.rand(b, n, m, s).to(device)
    x, up = (tm.normal(b, n, m, s, device=device) for _ in range(2))

    def right(gain, x):
        state, results = torch.zeros_like(x[:, 0]), []
        for t in range(n):
            state = gain[:, t] * state + x[:, t]
            results.append(state)
        return torch.stack(results, 1)

    return (
        lambda: tm.with_gradients(file.tiled_affine_scan, up, gain, x),
        lambda: tm.with_gradients(right, up.double(), gain, x, exact=True),
    )
