"""Triformer: softmax, SwiGLU and dropout of transformers."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("dame-cell/Triformer", "fc2ea630726c0e76cca2738bbb5fca3364dd667b", packages={"triformer": "."})  # fmt: skip


@repository.case("triformer/softmax.py", "softmax_kernel_forward, softmax_kernel_backward", rtol=1e-4, atol=1e-6, small=dict(b=2, t=70), production=dict(b=32, t=2048))  # fmt: skip
def causal_softmax(file, device, b, t):
    x, up = tm.normal(b, t, t, device=device), tm.normal(b, t, t, device=device)

    def masked(x):
        columns = torch.arange(t, device=device)
        return x.masked_fill(columns > columns[:, None], float("-inf")).softmax(-1)

    return (
        lambda: tm.with_gradients(file.TritonSoftmax(True), up, x),
        lambda: tm.with_gradients(masked, up, x, exact=True),
    )


@repository.case("triformer/swiglu.py", "swiglu_forward_optimized, swiglu_backward", rtol=1e-4, atol=1e-5, small=dict(b=2, t=9, d=300), production=dict(b=8, t=8192, d=1024))  # fmt: skip
def swiglu(file, device, b, t, d):
    gate, x, up = (tm.normal(b, t, d, device=device) for _ in range(3))
    return (
        lambda: tm.with_gradients(file.FastSwigluFunction.apply, up, gate, x),
        lambda: tm.with_gradients(lambda a, b: F.silu(a) * b, up, gate, x, exact=True),
    )


@repository.case("triformer/dropout.py", "_seeded_dropout", rtol=1e-5, atol=1e-5, small=dict(n=9000), production=dict(n=1 << 25))  # fmt: skip
def dropout(file, device, n):
    """What is kept is scaled, and about as many are kept as should be."""
    x = tm.normal(n, device=device)

    def run():
        out = file.TritonDropout.apply(x, 0.3, torch.tensor(7, device=device))
        kept = out != 0
        return torch.where(kept, out, x / 0.7), ((kept.double().mean() - 0.7).abs() < 0.03)[None]

    return run, lambda: (x.double() / 0.7, torch.ones(1, device=device))
