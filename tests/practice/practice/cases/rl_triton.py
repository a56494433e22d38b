"""rl-triton: returns and advantages of reinforcement learning by scans."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "simonsays1980/rl-triton",
    "ee985e6391b3fa4eb8a1f6b1e0ae6ead5216a79a",
    packages={"rl_triton": "src"},
)
SMALL, LARGE = dict(b=3, n=100), dict(b=4096, n=1024)


def _backward(n, step, start):
    rows = []
    for t in reversed(range(n)):
        start = step(t, start)
        rows.append(start)
    return torch.stack(rows[::-1], 1)


def _episodes(device, b, n):
    return (torch.rand(b, n) < 0.05).float().to(device)


def case(file, kernels, **options):
    return repository.case(f"src/rl_triton/ops/{file}.py", kernels, small=SMALL, production=LARGE, rtol=1e-4, atol=1e-4, **options)  # fmt: skip


@case("gae", "gae_fused_kernel")
def gae(file, device, b, n):
    r, v, ended = tm.normal(b, n, device=device), tm.normal(b, n, device=device), _episodes(device, b, n)  # fmt: skip

    def want():
        after = torch.cat([v[:, 1:], torch.zeros_like(v[:, :1])], 1).double()
        go = 1 - ended.double()
        delta = r + 0.99 * go * after - v
        return _backward(
            n, lambda t, a: delta[:, t] + 0.99 * 0.95 * go[:, t] * a, torch.zeros_like(delta[:, 0])
        )

    return lambda: file.compute_gae(r, v, ended), want


@case("returns", "discounted_returns_fused_kernel")
def discounted(file, device, b, n):
    r, ended = tm.normal(b, n, device=device), _episodes(device, b, n)
    x, go = r.double(), 1 - ended.double()
    return (
        lambda: file.compute_discounted_returns(r, ended),
        lambda: _backward(n, lambda t, g: x[:, t] + 0.99 * go[:, t] * g, torch.zeros_like(x[:, 0])),
    )


@case("prefix_sum", "prefix_sum_fused_kernel")
def prefix_sum(file, device, b, n):
    x, ended = tm.normal(b, n, device=device), _episodes(device, b, n)

    def want():
        rows, total = [], torch.zeros_like(x[:, 0], dtype=torch.float64)
        for t in range(n):
            total = x[:, t] + total * (1 - ended[:, t - 1].double() if t else 1)
            rows.append(total)
        return torch.stack(rows, 1)

    return lambda: file.compute_episodic_prefix_sum(x, ended), want


@case("vtrace_fused", "vtrace_fused_kernel")
def vtrace(file, device, b, n):
    p, q = -torch.rand(b, n).to(device), -torch.rand(b, n).to(device)
    v, r, ended = tm.normal(b, n, device=device), tm.normal(b, n, device=device), _episodes(device, b, n)  # fmt: skip

    def want():
        rho = (p.double() - q.double()).exp().clamp(max=1)
        go = 1 - ended.double()
        after = torch.cat([v[:, 1:], torch.zeros_like(v[:, :1])], 1).double()
        delta = rho * (r + 0.99 * go * after - v)
        extra = _backward(
            n, lambda t, a: delta[:, t] + 0.99 * go[:, t] * rho[:, t] * a, torch.zeros_like(delta[:, 0])
        )  # fmt: skip
        targets = v + extra
        following = torch.cat([targets[:, 1:], torch.zeros_like(targets[:, :1])], 1)
        return targets, rho * (r + 0.99 * go * following - v)

    return lambda: file.compute_vtrace_fused(p, q, v, r, ended), want
