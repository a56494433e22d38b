"""gashon's RMSNorm, from a course on language models, and its gradients."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("gashon/rms-norm-triton-kernel", "24338e9d94df4c3feeaf562f36b16c123c401f25")


@repository.case("triton_util.py", "rmsnorm_fwd_kernel", small=dict(b=2, n=5, d=300), production=dict(b=8, n=2048, d=2048), rtol=1e-4, atol=1e-4)  # fmt: skip
def rms_norm(file, device, b, n, d):
    """It keeps the roots as well."""
    x, weight = tm.normal(b, n, d, device=device), tm.normal(d, device=device)

    def run():
        y, roots = torch.empty_like(x), torch.empty(b * n, device=device)
        file.rmsnorm_fwd_kernel[(b, n)](x, y, weight, roots, *x.stride()[:2], n, d, 1e-5, BLOCK_SIZE=128)  # fmt: skip
        return y, roots

    def want():
        roots = (x.double().square().mean(-1) + 1e-5).sqrt()
        return tm.rms_norm(x, weight, 1e-5), roots.view(-1)

    return run, want


@repository.case("triton_util.py", "rmsnorm_bwd_kernel", small=dict(m=20, d=300), production=dict(m=16384, d=2048), rtol=1e-3, atol=1e-3)  # fmt: skip
def gradients(file, device, m, d):
    """That of the weight is added up with torch."""
    x, upstream = (tm.normal(m, d, device=device) for _ in range(2))
    weight = tm.normal(d, device=device)

    def run():
        dx, parts = torch.empty_like(x), torch.empty_like(x)
        size = 1 << (d - 1).bit_length()
        file.rmsnorm_bwd_kernel[(m,)](x, weight, upstream, d, dx, parts, d, 1e-5, num_warps=16, block_size=size)  # fmt: skip
        return dx, parts.sum(0)

    def norm(x, weight):
        return tm.rms_norm(x, weight, 1e-5)

    return run, lambda: tm.with_gradients(norm, upstream, x, weight, exact=True)[1:]
