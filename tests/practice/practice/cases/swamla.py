"""swamla: SwiGLU with its gradient, RMSNorm, and products of the tokens of each expert."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Orolol/swamla", "d0d0844644d719b72aaef11e492e869315f3d0cf")
HALF = torch.float16


@repository.case("models/triton_kernels.py", "_swiglu_fwd_kernel, _swiglu_bwd_kernel", small=dict(m=5, n=1500), production=dict(m=8192, n=11008), rtol=1e-4, atol=1e-5)  # fmt: skip
def swiglu(file, device, m, n):
    x, grad = tm.normal(m, 2 * n, device=device), tm.normal(m, n, device=device)
    return (
        lambda: tm.with_gradients(file.fused_swiglu, grad, x),
        lambda: tm.with_gradients(tm.silu_mul, grad, x, exact=True),
    )


@repository.case("models/triton_kernels.py", "_rms_norm_fwd_kernel", small=dict(m=5, n=1500), production=dict(m=8192, n=4096), rtol=1e-4, atol=1e-5)  # fmt: skip
def rms_norm(file, device, m, n):
    x, weight = tm.normal(m, n, device=device), tm.normal(n, device=device)
    return lambda: file.fused_rms_norm(x, weight), lambda: tm.rms_norm(x, weight, 1e-6)


@repository.case("models/moe_triton.py", "_compute_permutation_kernel, moe_gemm_kernel", small=dict(t=70, e=4, k=40, n=56), production=dict(t=8192, e=16, k=2048, n=4096), rtol=1e-2, atol=1e-2)  # fmt: skip
def experts(file, device, t, e, k, n):
    """The tokens of an expert have no order: the results are put in that of the tokens."""
    x = tm.normal(t, k, device=device, dtype=HALF)
    weights = tm.normal(e, k, n, device=device, dtype=HALF) / k**0.5
    ids = tm.integers(0, e, t, device=device)

    def run():
        _, offsets, order = file.fused_moe_routing(ids, e)
        return file.moe_gemm(x[order], weights, offsets, "silu")[order.argsort()]

    return run, lambda: F.silu(tm.moe(x, weights.mT, ids[:, None])[:, 0])
