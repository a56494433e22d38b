"""Stick-breaking attention, dense and for sequences of different lengths."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "shawntan/stickbreaking-attention",
    "3147a3841b025a31d271fc8f873120ff6fa0461b",
    packages={"stickbreaking_attention": "."},
    inits=("stickbreaking_attention.sb_attn", "stickbreaking_attention.sb_varlen"),
)
# Sums are stored under a lock that one warp gives back before the others have stored.
LOCK = dict(finds="race-warp-order")
DENSE = "stickbreaking_attention/sb_attn/__init__.py"
VARLEN = "stickbreaking_attention/sb_varlen/__init__.py"


def right(q, k, v):
    n, d = q.shape[-2:]
    s = (q @ k.mT) * d**-0.5
    before = torch.ones(n, n, dtype=torch.bool, device=q.device).tril(-1)
    rest = F.logsigmoid(-s).masked_fill(~before, 0)
    later = rest.flip(-1).cumsum(-1).flip(-1) - rest
    p = (F.logsigmoid(s) + later).masked_fill(~before, float("-inf")).exp()
    return p @ v


@repository.case(DENSE, "_forward, _backward", small=dict(b=1, h=2, n=150, d=32), production=dict(b=4, h=16, n=4096, d=64), rtol=1e-2, atol=2e-2, **LOCK)  # fmt: skip
def dense(file, device, b, h, n, d):
    q, k, v, up = (tm.normal(b, h, n, d, device=device) for _ in range(4))
    return (
        lambda: tm.with_gradients(lambda *x: file.sb_attn(*x)[0], up, q, k, v),
        lambda: tm.with_gradients(right, up, q, k, v, exact=True),
    )


@repository.case(VARLEN, "_forward, _backward, _forward_one_row, _backward_one_row, compute_block, softplus", small=dict(lengths=[70, 33, 129], h=2, d=32), production=dict(lengths=[4096, 2000, 1000, 3], h=16, d=64), rtol=1e-2, atol=2e-2, **LOCK)  # fmt: skip
def varlen(file, device, lengths, h, d):
    q, k, v, up = (tm.normal(h, sum(lengths), d, device=device) for _ in range(4))
    starts = tm.starts(lengths, device)

    def ours(q, k, v):
        return file.sb_attn_varlen(q, k, v, starts, starts[1:].diff(prepend=starts[:1]).max().item())[0]  # fmt: skip

    def parts(q, k, v):
        return torch.cat(
            [right(*x) for x in zip(*(t.split(lengths, 1) for t in (q, k, v)), strict=True)], 1
        )

    return (
        lambda: tm.with_gradients(ours, up, q, k, v),
        lambda: tm.with_gradients(parts, up, q, k, v, exact=True),
    )
