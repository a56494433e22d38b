"""shinkyo0513's triton-kernel-lab: sums, softmax and layer norm of rows."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("shinkyo0513/triton-kernel-lab", "3020104c181a876dbce09c1c2123f79115d4fed6")
SMALL, PRODUCTION = dict(m=20, n=700), dict(m=32768, n=1000)


@repository.case("kernels/rowwise_sum.py", "rowwise_sum_kernel", small=SMALL, production=PRODUCTION, rtol=1e-4, atol=1e-3)  # fmt: skip
def sums(file, device, m, n):
    x = tm.normal(m, n, device=device)
    return lambda: file.rowwise_sum(x), lambda: x.double().sum(-1)


@repository.case("kernels/softmax.py", "rowwise_softmax_kernel", small=SMALL, production=PRODUCTION, rtol=1e-3, atol=1e-6)  # fmt: skip
def softmax(file, device, m, n):
    """Of float16, in float32."""
    x = tm.normal(m, n, device=device, dtype=torch.float16)
    return lambda: file.rowwise_softmax(x), lambda: x.double().softmax(-1)


@repository.case("kernels/layernorm.py", "layernorm_kernel", small=SMALL, production=PRODUCTION, rtol=2e-3, atol=4e-3)  # fmt: skip
def layer_norm(file, device, m, n):
    x, weight, bias = (
        tm.normal(*shape, device=device, dtype=torch.float16) for shape in ((m, n), (n,), (n,))
    )
    return (
        lambda: file.layernorm(x, weight, bias),
        lambda: tm.layer_norm(x, weight, bias, 1e-5),
    )
