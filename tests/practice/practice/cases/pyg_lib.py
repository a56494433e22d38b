"""pyg-lib: several reductions by scattering, in one pass with atomics."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "pyg-team/pyg-lib", "764e3a492eb0d1ed9616808ec9fec2416f8d6b7d", packages={"pyg_lib": "."}
)
# Its second and third reduction test other arguments than their own: this order works.
KINDS = ["sum", "mean", "min", "max"]


@repository.case("pyg_lib/ops/scatter_reduce.py", "_fused_scatter_reduce_forward_kernel", small=dict(n=500, f=20, out=60), production=dict(n=200000, f=128, out=50000), atol=1e-4)  # fmt: skip
def fused_scatter_reduce(file, device, n, f, out):
    x, index = tm.normal(n, f, device=device), tm.integers(0, out, n, device=device)

    def want():
        names = {"sum": "sum", "mean": "mean", "min": "amin", "max": "amax"}
        places = index[:, None].expand(n, f)
        results = [
            torch.zeros(out, f, device=device, dtype=torch.float64).scatter_reduce(
                0, places, x.double(), names[kind], include_self=False
            )
            for kind in KINDS
        ]
        return torch.cat(results, -1)

    return lambda: file.fused_scatter_reduce(x, index, out, list(KINDS)), want
