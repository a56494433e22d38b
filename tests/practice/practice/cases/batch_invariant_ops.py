"""Batch-invariant operations: a persistent product, log softmax, and the mean along an axis, each
with sums whose order no other row changes."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "thinking-machines-lab/batch_invariant_ops", "f22b1fbe534b1fe045080f44a970a441caaf3c4f"
)
FILE = "batch_invariant_ops/batch_invariant_ops.py"


@repository.case(
    FILE,
    "matmul_kernel_persistent, _compute_pid",
    rtol=2e-2,
    atol=2e-1,
    small=dict(m=200, n=150, k=100),
    production=dict(m=4096, n=4096, k=4096),
)
def persistent_product(file, device, m, n, k):
    x, weight = (tm.normal(*s, device=device, dtype=torch.bfloat16) for s in ((m, k), (n, k)))
    bias = tm.normal(n, device=device, dtype=torch.bfloat16)
    return (
        lambda: file.addmm_batch_invariant(bias, x, weight.T),
        lambda: x.double() @ weight.double().T + bias.double(),
    )


@repository.case(
    FILE,
    "_log_softmax_kernel",
    small=dict(b=2, t=5, v=2500),
    production=dict(b=2, t=1024, v=128256),
)
def log_softmax(file, device, b, t, v):
    x = tm.normal(b, t, v, device=device, scale=3.0)
    return lambda: file.log_softmax(x), lambda: x.double().log_softmax(-1)


@repository.case(
    FILE, "mean_kernel", small=dict(b=3, t=1100, d=20), production=dict(b=8, t=2048, d=1024)
)
def mean_of_a_middle_axis(file, device, b, t, d):
    x = tm.normal(b, t, d, device=device) + 1.0
    return lambda: file.mean_dim(x, 1, keepdim=True), lambda: x.double().mean(1, keepdim=True)
