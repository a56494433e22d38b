"""Hyper-Mnemosyne: streams that are mixed by a matrix with rows and columns of sum one."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Svel26/Hyper-Mnemosyne", "e2c1ce931ea8c0a0d3b7c86d49f97998e4f80a28")


@repository.case("model/triton_kernels.py", "sinkhorn_kernel, fused_mhc_forward_kernel", small=dict(b=2, s=5, n=4, d=200), production=dict(b=4, s=4096, n=4, d=2048))  # fmt: skip
def mixed_streams(file, device, b, s, n, d):
    x, raw = tm.normal(b, s, n, d, device=device), tm.normal(n, n, device=device)

    def want():
        w = raw.double()
        for _ in range(5):
            w = w - w.logsumexp(1, keepdim=True)
            w = w - w.logsumexp(0, keepdim=True)
        return torch.exp(w) @ x.double()

    return lambda: file.mhc_forward(x, raw), want
