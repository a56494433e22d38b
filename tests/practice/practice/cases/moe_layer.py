"""moe_layer: products with the matrix of each row's expert (sigma-MoE), with gradients."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("RobertCsordas/moe_layer", "c9b9c01c7071fe5c39d1f91ae6f24911fb75adb0", packages={"triton_src": "."})  # fmt: skip
CLOSE = dict(rtol=1e-3, atol=1e-3)
SMALL = dict(m=70, k=48, n=40, experts=3, top=2)
LARGE = dict(m=8192, k=1024, n=512, experts=16, top=2)
FILE = "triton_src/moe_layer/cvmm.py"


@repository.case(FILE, "cvmm_kernel, cvmm_backward_kernel3", small=SMALL, production=LARGE, **CLOSE)
def one_expert(file, device, m, k, n, experts, top):
    x, keys, up = tm.normal(m, k, device=device), tm.normal(experts, k, n, device=device), tm.normal(m, n, device=device)  # fmt: skip
    chosen = tm.integers(0, experts, m, device=device)
    return (
        lambda: tm.with_gradients(lambda x, w: file.cvmm(x, chosen, w), up, x, keys),
        lambda: tm.with_gradients(lambda x, w: torch.einsum("mk,mkn->mn", x, w[chosen]), up, x, keys, exact=True),
    )  # fmt: skip


@repository.case(FILE, "cvmm_kernel, cvmm_backward_kernel3", small=SMALL, production=LARGE, **CLOSE)
def two_experts_with_weights(file, device, m, k, n, experts, top):
    x, keys, up = tm.normal(m, k, device=device), tm.normal(experts, k, n, device=device), tm.normal(m, n, device=device)  # fmt: skip
    weights, chosen = torch.rand(m, experts).topk(top)
    weights, chosen = weights.to(device), chosen.to(device)

    def ours(x, keys, weights):
        return file.cvmm(x, file.cvmm_prepare_sel2(chosen, weights), keys)

    def right(x, keys, weights):
        return torch.einsum("mk,mtkn,mt->mn", x, keys[chosen], weights)

    return (
        lambda: tm.with_gradients(ours, up, x, keys, weights),
        lambda: tm.with_gradients(right, up, x, keys, weights, exact=True),
    )
