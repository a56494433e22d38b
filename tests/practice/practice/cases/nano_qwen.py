"""Nano-Qwen: rows for experts and their sums, RoPE, cross entropy and attention."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("debajyotidasgupta/nano-qwen", "fead4d0338ab9560592f4bcfa1ab182621e555f7", packages={"kernels": "."})  # fmt: skip


@repository.case("kernels/moe_dispatch.py", "_scatter_kernel, _gather_kernel", rtol=1e-2, atol=1e-2, small=dict(n=20, top=2, d=100), production=dict(n=8192, top=8, d=2048))  # fmt: skip
def rows_of_experts(file, device, n, top, d):
    x = tm.normal(n, d, device=device, dtype=torch.bfloat16)
    weights = torch.rand(n, top).to(device)
    places = torch.randperm(n * top).view(n, top).to(device)

    def run():
        rows = file.triton_scatter_tokens(x, places, weights, n * top)
        return rows, file.triton_gather_tokens(rows, places, weights, n, d)

    def want():
        rows = torch.zeros(n * top, d, dtype=torch.float64, device=device)
        rows[places] = x.double()[:, None] * weights.double()[..., None]
        return rows, (rows.bfloat16().double()[places] * weights.double()[..., None]).sum(1)

    return run, want


@repository.case("kernels/rope.py", "_rope_fwd_kernel", rtol=1e-4, atol=1e-4, small=dict(b=2, h=4, kv=2, t=9, d=40), production=dict(b=4, h=32, kv=8, t=4096, d=128))  # fmt: skip
def rope(file, device, b, h, kv, t, d):
    """In place; queries and keys are views of another order."""
    q, k = (tm.normal(b, t, n, d, device=device).transpose(1, 2) for n in (h, kv))
    angle = torch.outer(torch.arange(t), 10000 ** -(torch.arange(0, d, 2) / d))
    cos, sin = angle.cos().to(device), angle.sin().to(device)
    return (
        lambda: file.triton_apply_rope(q.clone(), k.clone(), cos, sin),
        lambda: (tm.rotated(q, cos, sin), tm.rotated(k, cos, sin)),
    )


@repository.case("kernels/cross_entropy.py", "_cross_entropy_fwd_kernel", rtol=1e-4, atol=1e-5, small=dict(n=20, v=900), production=dict(n=4096, v=151936))  # fmt: skip
def cross_entropy(file, device, n, v):
    logits = tm.normal(n, v, device=device, dtype=torch.bfloat16)
    labels = tm.integers(0, v, n, device=device)
    labels[::5] = -100
    return (
        lambda: file.triton_cross_entropy(logits, labels)[None],
        lambda: torch.stack(
            [F.cross_entropy(x.double(), y, reduction="sum") for x, y in zip(logits.split(512), labels.split(512), strict=True)]  # fmt: skip
        ).sum()[None] / (labels >= 0).sum(),
    )  # fmt: skip


@repository.case("kernels/flash_attn.py", "_flash_attn_fwd_kernel", rtol=1e-2, atol=1e-2, small=dict(b=1, h=2, t=256, d=32), production=dict(b=2, h=16, t=4096, d=128))  # fmt: skip
def attention(file, device, b, h, t, d):
    q, k, v = (tm.normal(b, h, t, d, device=device, dtype=torch.bfloat16) for _ in range(3))
    return (
        lambda: file.triton_flash_attention(q, k, v),
        lambda: torch.stack([tm.attention(*x, causal=True)[0] for x in zip(q, k, v, strict=True)]),
    )
