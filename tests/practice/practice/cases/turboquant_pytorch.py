"""TurboQuant in PyTorch: the interval that each number is in."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "Oichkatzelesfrettschen/turboquant-pytorch", "9a541449bb7bded91ad16dcc933d74188588b2b8"
)


@repository.case(
    "triton_kernels.py",
    "_boundary_quantize_kernel",
    rtol=0,
    atol=0,
    small=dict(n=11, d=128, bits=3),
    production=dict(n=1 << 19, d=128, bits=4),
)
def intervals(file, device, n, d, bits):
    x = tm.normal(n, d, device=device)
    bounds = torch.randn(2**bits - 1).sort().values.to(device)
    return (
        lambda: file.triton_quantize_boundary(x, bounds),
        lambda: torch.bucketize(x, bounds),
    )
