"""fusedswiglu: both products of SwiGLU in one kernel, and those of its gradient in another."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "fattorib/fusedswiglu",
    "a47bd091eb2f44ce7d3a2cf9b6fb78b2469f5301",
    packages={"fused_swiglu": "."},
)
FILE = "fused_swiglu/kernels/kernels_bf16.py"
BF16 = torch.bfloat16
SIZES = dict(
    small=dict(b=2, m=40, n=64, k=96), production=dict(b=4, m=1024, n=4096, k=8192), rtol=3e-2, atol=3e-2, share=1e-3
)  # fmt: skip


@repository.case(FILE, "swiglu_kernel", **SIZES)
def forward(file, device, b, m, n, k):
    x = tm.normal(b, m, n, device=device, dtype=BF16)
    gate, up = (tm.normal(n, k, device=device, dtype=BF16, scale=n**-0.5) for _ in range(2))

    def want():
        g, u = (x.double() @ w.double() for w in (gate, up))
        return F.silu(g) * u, g, u

    return lambda: file.fused_swiglu_fwd(x, gate, up), want


@repository.case(FILE, "bmm_kernel", **SIZES)
def two_products(file, device, b, m, n, k):
    x = tm.normal(b, n, m, device=device, dtype=BF16, scale=m**-0.5)
    up, gate = (tm.normal(b, m, k, device=device, dtype=BF16) for _ in range(2))
    return (
        lambda: file.fused_bmm(x, up, gate),
        lambda: tuple(x.double() @ y.double() for y in (up, gate)),
    )


@repository.case(FILE, "elementwise_backward_kernel", **SIZES)
def elementwise_gradient(file, device, b, m, n, k):
    up, g, u = (tm.normal(b, m, k, device=device, dtype=BF16) for _ in range(3))

    def want():
        grads = tm.with_gradients(lambda g, u: F.silu(g) * u, up.double(), g, u, exact=True)
        return grads[2], grads[1]

    return lambda: file.elementwise_backward(up, g, u), want
