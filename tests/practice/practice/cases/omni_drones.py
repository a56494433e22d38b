"""OmniDrones, made faster: advantages along an episode, observations by their running statistics,
and rewards of drones that fly and hover."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("vukrosic/OmniDrones-optimized", "879db20b5768e11e0004ec00b0aa77c0059224ce")
FILE = "triton_kernels.py"


@repository.case(
    FILE,
    "_gae_kernel",
    rtol=1e-4,
    atol=1e-4,
    small=dict(t=20, n=30),
    production=dict(t=64, n=16384),
)
def advantages(file, device, t, n):
    rewards, values = (tm.normal(t, n, device=device) for _ in range(2))
    dones = (torch.rand(t, n) < 0.1).float().to(device)

    def want():
        after = torch.cat([values[1:], torch.zeros_like(values[:1])]).double()
        left = 1 - dones.double()
        deltas = rewards.double() + 0.99 * after * left - values.double()
        out, last = torch.empty_like(deltas), torch.zeros_like(deltas[0])
        for i in reversed(range(t)):
            last = out[i] = deltas[i] + 0.99 * 0.95 * left[i] * last
        return out

    return lambda: file.gae_triton(rewards, values, dones), want


# Program 0 stores the new count, which the other programs load for the old one: what they make of
# it is by chance, so only the first column is compared.
@repository.case(
    FILE,
    "_obs_norm_kernel",
    rtol=1e-4,
    atol=1e-4,
    finds="race-read-write",
    small=dict(b=300, d=7),
    production=dict(b=65536, d=64),
)
def observations(file, device, b, d):
    x = tm.normal(b, d, device=device) * 2 + 0.5

    def run():
        statistics = file.RunningMeanStdTriton((d,), device)
        out = statistics.update_and_normalize(x)
        return out[:, 0], statistics.mean[0], statistics.var[0], statistics.count

    def want():
        rows, before = x[:, 0].double(), 1e-4
        mean, count = rows.mean(), before + b
        new = mean * b / count
        var = (before + rows.var(unbiased=False) * b + mean**2 * before * b / count) / count
        return (rows - new) / (var + 1e-8).sqrt(), new, var, torch.tensor([count])

    return run, want


@repository.case(FILE, "_reward_kernel", small=dict(n=300), production=dict(n=1 << 20))
def rewards_of_flight(file, device, n):
    at, to, speed, turn = (tm.normal(n, 3, device=device) for _ in range(4))
    effort = tm.normal(n, 4, device=device)

    def want():
        reward = 1 / (1 + (at.double() - to.double()).square().sum(-1))
        for weight, x in ((0.1, speed), (0.05, turn), (0.01, effort)):
            reward = reward - weight * x.double().norm(dim=-1)
        return reward

    return lambda: file.reward_triton(at, to, speed, turn, effort), want


@repository.case(FILE, "_hover_reward_kernel", small=dict(n=300), production=dict(n=1 << 20))
def rewards_of_hovering(file, device, n):
    off, heading = (tm.normal(n, 3, device=device) for _ in range(2))
    up, spin, effort, change = (torch.rand(n).to(device) for _ in range(4))

    def want():
        far = torch.cat([off, heading], -1).double().norm(dim=-1) * 1.2
        pose = 1 / (1 + far**2)
        upright = ((up.double() + 1) / 2) ** 2
        spinning = 1 / (1 + spin.double() ** 2)
        calm = 0.1 * (-effort.double()).exp() + 0.1 * (-change.double()).exp()
        return pose + pose * (upright + spinning) + calm

    return lambda: file.hover_reward_triton(off, heading, up, spin, effort, change), want
