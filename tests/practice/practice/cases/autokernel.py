"""autokernel: the kernels that its search begins with."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("RightNow-AI/autokernel", "78435821cc3d5756ba6ee1785c397f6d8fa8c90d")
HALF = torch.float16


@repository.case("kernels/fused_mlp.py", "fused_gate_up_kernel", small=dict(m=40, n=72, k=96), production=dict(m=2048, n=11008, k=4096), rtol=1e-2, atol=1e-2)  # fmt: skip
def mlp(file, device, m, n, k):
    x, gate, up, down = (tm.normal(*s, device=device, dtype=HALF, scale=s[1] ** -0.5 if i else 1.0) for i, s in enumerate(((m, k), (n, k), (n, k), (k, n))))  # fmt: skip

    def want():
        rows = x.double()
        return F.silu(rows @ gate.double().T) * (rows @ up.double().T) @ down.double().T

    return lambda: file.kernel_fn(x, gate, up, down), want


@repository.case("kernels/cross_entropy.py", "cross_entropy_kernel", small=dict(m=7, n=300), production=dict(m=4096, n=50257), rtol=1e-4, atol=1e-4)  # fmt: skip
def cross_entropy(file, device, m, n):
    x, ids = tm.normal(m, n, device=device, dtype=HALF), tm.integers(0, n, m, device=device)
    return lambda: file.kernel_fn(x, ids), lambda: F.cross_entropy(x.double(), ids)


@repository.case("kernels/reduce.py", "reduce_sum_kernel", small=dict(m=7, n=300), production=dict(m=8192, n=16384), rtol=1e-4, atol=1e-3)  # fmt: skip
def sums(file, device, m, n):
    x = tm.normal(m, n, device=device)
    return lambda: file.kernel_fn(x), lambda: x.double().sum(-1)


@repository.case("kernels/rotary_embedding.py", "rotary_embedding_kernel", small=dict(h=3, t=7, d=48), production=dict(h=64, t=4096, d=128), rtol=2e-3, atol=2e-3)  # fmt: skip
def rope(file, device, h, t, d):
    x, angles = tm.normal(h, t, d, device=device, dtype=HALF), torch.rand(t, d // 2) * 6
    cos, sin = (y.to(HALF).to(device) for y in (angles.cos(), angles.sin()))
    return lambda: file.kernel_fn(x, cos, sin), lambda: tm.rotated(x, cos, sin, interleaved=True)
