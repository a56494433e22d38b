"""ArchScale: attention in a band with learned sinks, and the gradients of all of them."""

from __future__ import annotations

import math

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("microsoft/ArchScale", "c2ec1d6903d248842cd1568cc76577e77c96feaa")
KERNELS = "_attn_fwd, _attn_bwd_preprocess, _attn_bwd"


def _case(name, band, **sizes):
    def build(file, device, b, h, n, d):
        window = min(band, n // 4)
        q, k, v, up = (tm.normal(b, h, n, d, device=device, dtype=torch.bfloat16) for _ in range(4))
        sinks = tm.normal(h, device=device)

        def run(q, k, v, sinks):
            return file._attention.apply(q, k, v, sinks, True, d**-0.5, window)

        def right(q, k, v, sinks):
            sinks = sinks * math.log(2)
            return tm.attention(q, k, v, causal=True, window=window or None, sink=sinks)[0]

        return (
            lambda: tm.with_gradients(run, up, q, k, v, sinks),
            lambda: tm.with_gradients(right, up.double(), q, k, v, sinks, exact=True),
        )

    repository.case("lit_gpt/oss_attn.py", KERNELS, rtol=3e-2, atol=5e-2, share=2e-3, name=name, **sizes)(build)  # fmt: skip


SMALL = dict(b=2, h=2, n=256, d=64)
_case("sinks", 0, small=SMALL, production=dict(b=2, h=16, n=4096, d=64))
_case("band_and_sinks", 128, small=SMALL, production=dict(b=2, h=32, n=8192, d=64))
