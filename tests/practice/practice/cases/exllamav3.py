"""exllamav3: measures of logits over a large vocabulary."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("turboderp-org/exllamav3", "4f8ad0121f483ba66a5336244a4c3b6d7210385e")
FILE = "exllamav3/util/measures.py"
SIZES = dict(small=dict(m=5, v=2500), production=dict(m=2048, v=151936))


@repository.case(FILE, "_target_log_probs_partial_kernel", rtol=1e-4, atol=1e-4, **SIZES)
def log_probabilities(file, device, m, v):
    x, ids = tm.normal(m, v + 32, device=device, dtype=torch.float16, scale=3.0), tm.integers(0, v, m, device=device)  # fmt: skip
    return (
        lambda: file.compute_target_log_probs(x, ids, v).flatten(),
        lambda: x[:, :v].double().log_softmax(-1).gather(1, ids[:, None]).flatten(),
    )


@repository.case(FILE, "_kl_div_stats_kernel, _kl_div_partial_kernel", rtol=1e-3, atol=1e-3, **SIZES)  # fmt: skip
def divergence(file, device, m, v):
    x, y = (tm.normal(m, v + 32, device=device, dtype=torch.float16, scale=3.0) for _ in range(2))

    def want():
        p, q = (t[:, :v].double().log_softmax(-1) for t in (y, x))
        return (p.exp() * (p - q)).sum(-1)

    return lambda: file.compute_kl_div(x, y, v), want
