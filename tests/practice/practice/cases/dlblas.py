"""DLBlas: a gated memory with a short convolution, attention to chosen keys, and a policy's loss."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "DeepLink-org/DLBlas",
    "aae234451e772339f4fd075e00894205b87024fc",
    packages={"dlblas": "."},
)
FOLDER = "dlblas/kernels/"
BF16 = torch.bfloat16


@repository.case(FOLDER + "engram.py", "engram_gate_value_rms_kernel, engram_conv_residual_kernel", rtol=1e-3, atol=1e-3, share=1e-4, small=dict(b=2, t=10, g=3, c=100, e=40), production=dict(b=2, t=4096, g=4, c=1024, e=512))  # fmt: skip
def gated_memory(file, device, b, t, g, c, e):
    module = file.EngramTri(e, c, 4, 2, hc_mult=g).requires_grad_(False).to(device)
    x, hidden = tm.normal(b, t, e, device=device), tm.normal(b, t, g, c, device=device)

    def want():
        value = F.linear(x.double(), module.value_proj.weight.double(), module.value_proj.bias.double())  # fmt: skip
        out, normed = [], []
        for i, linear in enumerate(module.key_projs):
            key = F.linear(x.double(), linear.weight.double(), linear.bias.double())
            both = tm.rms_norm(key, None, 1e-5) * tm.rms_norm(hidden[:, :, i], None, 1e-5)
            gate = both.sum(-1) * c**-0.5
            gate = (gate.abs().clamp(min=1e-6).sqrt() * gate.sign()).sigmoid()
            out.append(gate[..., None] * value)
            normed.append(tm.rms_norm(out[-1], None, 1e-5))
        weight, rows = module.conv_weight.double(), torch.cat(normed, -1).mT
        rows = F.conv1d(F.pad(rows, (6, 0)), weight[:, None], dilation=2, groups=g * c)
        return torch.stack(out, 2) + F.silu(rows).mT.unflatten(-1, (g, c))

    return lambda: module(x, hidden), want


@repository.case(FOLDER + "sparse_mla.py", "_kernel", rtol=1e-2, atol=3e-3, share=1e-3, small=dict(n=6, heads=128, k=64), production=dict(n=512, heads=128, k=512))  # fmt: skip
def chosen_keys(file, device, n, heads, k):
    """Attention to k of the keys up to the query's own, some of them repeatedly."""
    q = tm.normal(1, n, heads, 576, device=device, dtype=BF16)
    kv = tm.normal(1, n, 1, 576, device=device, dtype=BF16)
    rows = torch.arange(n)[:, None]
    ids = ((torch.rand(n, k) * (rows + 1)).long().clamp(max=rows)).to(torch.int32)
    ids = ids[None, :, None].to(device)

    def want():
        keys = kv[0, :, 0].double()[ids[0, :, 0].long()]
        s = torch.einsum("nhd,nkd->nhk", q[0].double(), keys) * 576**-0.5
        out = torch.einsum("nhk,nkd->nhd", s.softmax(-1), keys[..., :512])
        return out[None], s.logsumexp(-1)[None] * 1.4426950408889634

    return lambda: file.sparse_mla_fwd_interface(q, kv, ids), want


@repository.case(FOLDER + "grpo_loss.py", "grpo_loss_fwd_kernel", rtol=1e-4, atol=1e-4, small=dict(t=16, v=128), production=dict(t=8192, v=4096))  # fmt: skip
def policy_loss(file, device, t, v):
    new, old, other = ((tm.normal(t, v, device=device)).log_softmax(-1) for _ in range(3))
    gains = tm.normal(t, device=device, scale=1e-3)
    coefficient, factor, clip = 0.1, 1 / v, 0.2

    def want():
        ratio, gain = (new.double() - old.double()).exp(), gains.double()[:, None]
        loss = torch.maximum(-gain * ratio, -gain * ratio.clamp(1 - clip, 1 + clip))
        distance = other.double() - new.double()
        return (coefficient * (distance.exp() - distance - 1)).sum(-1) * factor + loss.sum() * factor  # fmt: skip

    return (
        lambda: file.GRPOLoss.apply(
            new, old, other, gains, "unbias", coefficient, factor, clip, 4
        ).detach(),
        want,
    )


@repository.case(FOLDER + "grouped_gemm/BF16/k_grouped_gemm.py", "k_grouped_gemm_general_kernel", rtol=2e-2, atol=2e-1, small=dict(counts=(70, 200, 1), m=256, n=256), production=dict(counts=(2048, 1000, 3000, 2000, 2500, 1500, 4000, 336), m=2048, n=2048))  # fmt: skip
def gradients_of_experts(file, device, counts, m, n):
    """For each expert, the product of the rows that it has seen with those of its gradient."""
    x, up = (tm.normal(sum(counts), s, device=device, dtype=BF16) for s in (m, n))
    sizes = torch.tensor(counts).to(device)
    return (
        lambda: file.k_grouped_gemm_general(x, up, sizes),
        lambda: torch.stack(
            [
                a.double().T @ b.double()
                for a, b in zip(x.split(counts), up.split(counts), strict=True)
            ]
        ),
    )
