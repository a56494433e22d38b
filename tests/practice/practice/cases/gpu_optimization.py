"""gpu-optimization-cuda-triton: focal loss, and a layer norm with Swish and dropout."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Dhaval1512/gpu-optimization-cuda-triton", "86bc37c3a5ba021ce51a16584ef19f2d709af256")  # fmt: skip
FILE = "triton_kernels/triton_ops.py"


@repository.case(FILE, "focal_loss_kernel", small=dict(n=600, c=20), production=dict(n=1 << 22, c=32), rtol=1e-4, atol=1e-5)  # fmt: skip
def focal_loss(file, device, n, c):
    log_p = tm.normal(n, c, device=device).log_softmax(-1)
    targets = tm.integers(0, c, n, device=device)

    def want():
        log_pt = log_p.gather(1, targets[:, None])[:, 0].double()
        return (-0.25 * (1 - log_pt.exp()) ** 2 * log_pt).mean()

    return lambda: file.triton_focal_loss(log_p, targets), want


# Only rows whose length is a power of two have the right variance.
@repository.case(FILE, "fused_ln_swish_dropout_kernel", small=dict(m=30, n=512), production=dict(m=16384, n=4096), rtol=1e-4, atol=1e-5)  # fmt: skip
def norm_swish_dropout(file, device, m, n):
    """What is kept is an input of the reference; how much of it there is is compared as well."""
    x, (gamma, beta) = tm.normal(m, n, device=device), tm.normal(2, n, device=device)
    results = []

    def run():
        results[:] = file.triton_fused_ln_swish_dropout(x, gamma, beta, 0.25)
        return results[0], (results[1].double().mean() * 20).round()

    def want():
        y = F.silu(tm.layer_norm(x, gamma, beta, 1e-5))
        kept = torch.full((), 0.75 * 20, dtype=torch.float64).round()
        return torch.where(results[1] == 1, y / 0.75, 0.0), kept

    return run, want
