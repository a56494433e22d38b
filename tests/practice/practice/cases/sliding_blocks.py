"""Attention to a window of whole blocks, those after the query's own place in its block too."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "zankerx/Flash-Attention-Triton-kernel-Bloc-Sliding-Window",
    "2fbd57db3ce6bfcffbf709a3e4a9be05822cddc6",
)


@repository.case(
    "kernel/SWBA.py",
    "_fwd_kernel, _bwd_preprocess, _bwd_kernel",
    rtol=2e-2,
    atol=1e-2,
    share=1e-3,
    small=dict(b=1, heads=2, t=384, d=32, block=128, window=2),
    production=dict(b=4, heads=16, t=2048, d=64, block=256, window=2),
)
def attention_to_blocks(file, device, b, heads, t, d, block, window):
    q, k, v, up = (tm.normal(b, heads, t, d, device=device, dtype=torch.float16) for _ in range(4))
    own = torch.arange(t, device=device) // block
    back = own[:, None] - own
    out = (back < 0) | (back >= window)
    bias = torch.zeros(t, t, dtype=torch.float64, device=device).masked_fill(out, float("-inf"))

    def exact(q, k, v):
        parts = zip(q.unbind(0), k.unbind(0), v.unbind(0), strict=True)
        return torch.stack([tm.attention(*part, bias=bias)[0] for part in parts])

    return (
        lambda: tm.with_gradients(
            lambda q, k, v: file.attention(q, k, v, block, window, d**-0.5), up, q, k, v
        ),
        lambda: tm.with_gradients(exact, up, q, k, v, exact=True),
    )
