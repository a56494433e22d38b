"""2048 by reinforcement learning: moves of rows by a table, rewards and advantages."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "Wangshengyang2004/Tensor_PPO_2048", "eb0197d5adfecce21689175fad0e83f03cb7d8c2"
)
FILE = "triton_kernels.py"


@repository.case(
    FILE, "row_move_kernel", rtol=0, atol=0, small=dict(n=300), production=dict(n=1 << 20)
)
def moves_of_rows(file, device, n):
    rows = tm.integers(0, 16, n, 4, device=device, dtype=torch.int32)
    table = tm.integers(0, 16, 1 << 16, 4, device=device, dtype=torch.int32)
    gains = tm.normal(1 << 16, device=device)

    def want():
        ids = (rows.long() * torch.tensor([4096, 256, 16, 1], device=device)).sum(-1)
        return table[ids], gains[ids]

    return lambda: file.compute_row_move(rows, table, gains, n), want


@repository.case(FILE, "reward_shaping_kernel", small=dict(n=300), production=dict(n=1 << 19))
def shaped_rewards(file, device, n):
    before, after = (
        tm.integers(0, 12, n, 4, 4, device=device).float() * (torch.rand(n, 4, 4) < 0.6).to(device)
        for _ in range(2)
    )
    after[::3] = before[::3]
    rewards = tm.normal(n, device=device)

    def want():
        empty = 0.01 * ((after == 0).sum((1, 2)) - (before == 0).sum((1, 2))).double()
        larger = (after.amax((1, 2)) > before.amax((1, 2))).double()
        wasted = -0.1 * (after == before).all(-1).all(-1).double()
        return rewards.double() + empty + larger + wasted, empty, larger, wasted

    return lambda: file.compute_shaped_rewards(before, after, rewards), want


@repository.case(
    FILE,
    "gae_kernel",
    rtol=1e-4,
    atol=1e-4,
    small=dict(t=20, n=300),
    production=dict(t=128, n=65536),
)
def advantages(file, device, t, n):
    rewards, values = (tm.normal(t, n, device=device) for _ in range(2))
    dones = (torch.rand(t, n) < 0.1).to(device)
    after = tm.normal(n, device=device)

    def want():
        out, last = torch.empty(t, n, dtype=torch.float64, device=device), 0.0
        following = after.double()
        for i in reversed(range(t)):
            left = ~dones[i]
            delta = rewards[i].double() + 0.99 * following * left - values[i].double()
            last = out[i] = delta + 0.99 * 0.95 * left * last
            following = values[i].double()
        return out, out + values.double()

    return (
        lambda: file.compute_gae_advantages(rewards, values, dones, after, 0.99, 0.95),
        want,
    )
