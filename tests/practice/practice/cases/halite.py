"""halite: the entropy of the distributions that logits stand for, in one pass."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("rosinality/halite", "e474c703b08627f6fdaee145ed333cf122c80aa6")
FILE = "src/halite/nn/entropy.py"


def _right(x, scale):
    log_p = (x * scale).log_softmax(-1)
    return -(log_p.exp() * log_p).sum(-1)


@repository.case(FILE, "entropy_from_logits_kernel", small=dict(m=5, n=10000), production=dict(m=2048, n=128256), rtol=1e-4, atol=1e-3)  # fmt: skip
def entropy(file, device, m, n):
    x = tm.normal(m, n, device=device, dtype=torch.bfloat16, scale=2.0)
    return (
        lambda: file.entropy_from_logits_forward(x, 0.7),
        lambda: (_right(x.double(), 0.7), (x.double() * 0.7).logsumexp(-1)),
    )


@repository.case(FILE, "entropy_from_logits_kernel, entropy_from_logits_backward_kernel", small=dict(m=4, n=9001), production=dict(m=4096, n=32000), rtol=1e-3, atol=1e-5)  # fmt: skip
def entropy_gradient(file, device, m, n):
    x, up = tm.normal(m, n, device=device, scale=2.0), tm.normal(m, device=device)
    return (
        lambda: tm.with_gradients(lambda x: file.entropy_from_logits(x, 1.3), up, x)[1],
        lambda: tm.with_gradients(lambda x: _right(x, 1.3), up.double(), x, exact=True)[1],
    )
