"""Flash column reductions: how much attention each key gets from all queries."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("z-lab/flash-colreduce", "8c06f19bc157203486cb8cafd0570c17dccb8951")
FILE = "flash_colreduce/flash.py"
KERNELS = "_flash_colreduce_kernel, _update_softmax_lse, _update_softmax_cstats, _mask_scores"


def _of_keys(file, device, how, causal, b, heads, m, n, d):
    q, k = (tm.normal(b, heads, t, d, device=device, dtype=torch.float16) for t in (m, n))

    def want():
        out = torch.empty(b, heads, n, dtype=torch.float64, device=device)
        seen = torch.ones(m, n, dtype=torch.bool, device=device)
        if causal:
            seen = seen.tril(n - m)
        for i in range(b):
            for h in range(heads):
                s = (q[i, h].double() @ k[i, h].double().T) * d**-0.5
                p = s.masked_fill(~seen, float("-inf")).softmax(-1)
                out[i, h] = p.amax(0) if how == "max" else p.sum(0) / seen.sum(0)
        return out

    return lambda: file.flash_colreduce(q, k, how, is_causal=causal), want


@repository.case(
    FILE,
    KERNELS,
    rtol=5e-3,
    atol=1e-5,
    small=dict(b=1, heads=2, m=100, n=170, d=64),
    production=dict(b=2, heads=16, m=4096, n=8192, d=128),
)
def mean_attention_of_keys(file, device, **sizes):
    return _of_keys(file, device, "mean", True, **sizes)


@repository.case(
    FILE,
    KERNELS,
    rtol=5e-3,
    atol=1e-5,
    small=dict(b=2, heads=1, m=150, n=90, d=48),
    production=dict(b=8, heads=16, m=1024, n=4096, d=80),
)
def largest_attention_of_keys(file, device, **sizes):
    """The wrapper pads the width of a head to a power of two."""
    return _of_keys(file, device, "max", False, **sizes)
