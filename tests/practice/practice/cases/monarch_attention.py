"""Monarch attention: two small factors in place of the matrix of attention, in a few steps."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("cjyaras/monarch-attention", "137c73c30857fa3ce686b09c99bacf23e36d00d9")
KERNELS = "_al_cl_kernel, _ar_cr_kernel, _al_y_cl_kernel, _z_kernel"


def _exact(q, k, v, mask, steps, block, before):
    """Shapes: q, k, v (E, H, N, D), mask (E, N)."""
    n = q.shape[2]
    more = -n % block
    rest = (more, 0) if before else (0, more)
    q, k, v = (torch.nn.functional.pad(x, (0, 0, *rest)).unflatten(2, (-1, block)) for x in (q, k, v))  # fmt: skip
    seen = torch.nn.functional.pad(mask, rest).unflatten(1, (-1, block))[:, None]
    scale, turned = q.shape[-1] ** -0.5, q.transpose(2, 3)
    left, count = q, torch.ones_like(q[..., 0])
    for step in range(steps):
        r = (scale * left @ k.mT / count[..., None]).masked_fill(~seen[..., None, :], -torch.inf)
        r = r.softmax(-1)
        loss = torch.special.xlogy(r, r).sum(-1).transpose(2, 3)
        right = (scale * r @ k).transpose(2, 3)
        scores = right @ turned.mT - loss[..., None]
        if step < steps - 1:
            p = scores.softmax(-2) * seen.transpose(2, 3)[..., None, :]
            count, left = p.sum(-1).transpose(2, 3), (p @ turned).transpose(2, 3)
    z = (scores.softmax(-2).mT @ (r @ v).transpose(2, 3)).transpose(2, 3).flatten(2, 3)
    return z[:, :, more:] if before else z[:, :, :n]


for _name, _masked, _before in (("attention", False, False), ("attention_masked_padded_before", True, True)):  # fmt: skip

    @repository.case("ma/ma_triton.py", KERNELS, small=dict(e=2, h=2, n=100, d=32, block=16), production=dict(e=2, h=16, n=16384, d=64, block=128), name=_name, rtol=2e-2, atol=2e-2)  # fmt: skip
    def attention(file, device, e, h, n, d, block, masked=_masked, before=_before):
        q, k, v = (tm.normal(e, h, n, d, device=device, dtype=torch.float16) for _ in range(3))
        mask = torch.rand(e, n) < 0.8 if masked else torch.ones(e, n, dtype=torch.bool)
        mask = mask.to(device)

        def run():
            given = mask if masked else None
            return file.monarch_attention_triton(q, k, v, given, 3, block, before)

        def want():
            return _exact(q.double(), k.double(), v.double(), mask, 3, block, before)

        return run, want
