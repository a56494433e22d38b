"""ArcticTraining: the products of a mixture's experts, by programs that stay."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "snowflakedb/ArcticTraining",
    "b28638e6c577ece34cc147ab3d45d27a7f66b33b",
    packages={"arctic_training": "."},
)


@repository.case("arctic_training/model/moe/moe_gemm.py", "grouped_matmul_kernel", rtol=1e-2, atol=2e-2, small=dict(experts=3, rows=128, k=64, n=128), production=dict(experts=8, rows=2048, k=2048, n=2048))  # fmt: skip
def experts(file, device, experts, rows, k, n):
    x = tm.normal(experts * rows, k, device=device, dtype=torch.float16)
    weights = tm.normal(experts, k, n, device=device, dtype=torch.float16, scale=k**-0.5)
    ends = torch.arange(1, experts + 1).mul(rows).to(torch.int32).to(device)
    return (
        lambda: file.group_gemm_fn(x, weights, ends),
        lambda: (x.double().unflatten(0, (experts, rows)) @ weights.double()).flatten(0, 1),
    )
