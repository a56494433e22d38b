"""proteusAI: attention whose scores grow with the nearness of two atoms, with all its gradients."""

from __future__ import annotations

import math

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("jaimec00/proteusAI", "c3ee8d140ee5fa66d2807d3df78f019ca665781d")
FILE = "old/old_scripts/attn/geometric_attn.py"
SIZES = dict(small=dict(b=2, h=2, n=50, d=32), production=dict(b=4, h=8, n=1024, d=64))


def _inputs(device, b, h, n, d):
    q, k, v, up = (tm.normal(b, h, n, d, device=device).half() for _ in range(4))
    spreads, betas = 3 + torch.arange(h).to(device) * 1.0, torch.rand(h).to(device) * 0.5
    coords = tm.normal(b, n, 3, device=device, scale=5.0)
    hidden = torch.arange(n).expand(b, n) >= torch.tensor(tm.lengths(b, n))[:, None]
    return q, k, v, up, spreads, betas, coords, hidden.to(device)


def _right(q, k, v, spreads, betas, coords, hidden):
    s = q @ k.mT * q.shape[-1] ** -0.5
    square = (coords[:, :, None] - coords[:, None]).square().sum(-1)[:, None]
    near = 2 * torch.exp(-square / (2 * spreads[:, None, None] ** 2)) - 1
    s = s + betas[:, None, None] * near * s.abs()
    p = s.masked_fill(hidden[:, None, None], -math.inf).softmax(-1)
    return (p @ v) * ~hidden[:, None, :, None]


@repository.case(FILE, "_attn_fwd", **SIZES, rtol=1e-2, atol=1e-2, name="forward")
def forward(file, device, **sizes):
    q, k, v, _, spreads, betas, coords, hidden = _inputs(device, **sizes)
    return (
        lambda: file.geometric_attn(q, k, v, coords, spreads, betas, hidden),
        lambda: _right(
            *(x.cpu().double() for x in (q, k, v, spreads, betas, coords)), hidden.cpu()
        ),
    )


@repository.case(FILE, "_attn_bwd", **SIZES, rtol=5e-2, atol=5e-2, share=1e-3, name="backward")
def backward(file, device, **sizes):
    q, k, v, up, spreads, betas, coords, hidden = _inputs(device, **sizes)

    def ours(q, k, v, spreads, betas):
        return file.geometric_attn(q, k, v, coords, spreads, betas, hidden)

    def right(*x):
        return _right(*x, coords.cpu().double(), hidden.cpu())

    leaves = q, k, v, spreads, betas
    return (
        lambda: tm.with_gradients(ours, up, *leaves),
        lambda: tm.with_gradients(right, up.cpu(), *(x.cpu() for x in leaves), exact=True),
    )


WAVES = "utils/model_utils/wf_embedding/isotropic/triton_old/wf_embedding.py"


@repository.case(WAVES, "_wf_embedding_fwd", small=dict(b=2, n=40, d=16), production=dict(b=2, n=256, d=128), rtol=1e-3, atol=1e-3)  # fmt: skip
def waves(file, device, b, n, d):
    coords = tm.normal(b, n, 3, device=device, scale=5.0)
    numbers = torch.linspace(0.2, 2.0, d // 2).to(device)
    hidden = torch.arange(n).expand(b, n) >= torch.tensor(tm.lengths(b, n))[:, None]

    def want():
        apart = coords.cpu().double()
        apart = (apart[:, :, None] - apart[:, None]).square().sum(-1).sqrt()
        seen = ~hidden[:, None] & ~hidden[:, :, None] & (apart != 0)
        near = torch.where(seen, 1 / apart, 0.0)[..., None]
        phase = apart[..., None] * numbers.cpu().double()
        return torch.stack([(f(phase) * near).sum(2) for f in (torch.cos, torch.sin)], -1).flatten(
            2
        )

    return lambda: file.wf_embedding(coords, numbers, hidden.to(device)), want
