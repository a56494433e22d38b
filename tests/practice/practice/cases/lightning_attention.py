"""Lightning attention: linear attention with decay by blocks, and its gradients."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "OpenNLPLab/lightning-attention", "d15c38529bbd5c2c82b44ddda3cac885825aa873"
)
FOLDER = "lightning_attn/ops/triton/"
SMALL, LARGE = dict(b=1, h=2, n=512, d=32, e=64), dict(b=2, h=16, n=8192, d=128, e=128)
KERNELS = "_fwd_kernel, _bwd_intra_kernel, _bwd_inter_kernel"
PARALLEL = "_fwd_diag_kernel, _fwd_kv_parallel, _fwd_kv_reduce, _fwd_none_diag_kernel, _bwd_diag_kernel, _bwd_dkv_parallel, _bwd_dkv_reduce, _bwd_none_diag_kernel"  # fmt: skip


def _case(name, file, function, kernels, has_decay):
    def build(file, device, b, h, n, d, e):
        q, k = (tm.normal(b, h, n, d, device=device) for _ in range(2))
        v, up = (tm.normal(b, h, n, e, device=device) for _ in range(2))
        decay = torch.arange(1, h + 1, device=device, dtype=torch.float32) * 0.1 * has_decay
        slopes = [decay.view(h, 1, 1)] if has_decay else []

        def right(q, k, v):
            far = torch.arange(n, device=device)[:, None] - torch.arange(n, device=device)
            weights = torch.exp(-decay.double()[:, None, None] * far.clamp(min=0)) * (far >= 0)
            return (q @ k.mT * weights) @ v

        apply = getattr(file, function).apply
        return (
            lambda: tm.with_gradients(lambda *x: apply(*x, *slopes), up, q, k, v),
            lambda: tm.with_gradients(right, up, q, k, v, exact=True),
        )

    repository.case(FOLDER + file, kernels, small=SMALL, production=LARGE, rtol=1e-2, atol=5e-2, name=name)(build)  # fmt: skip


_case("decay", "lightning_attn2.py", "LightningAttention2", KERNELS, True)
_case("no_decay", "lightning_attn2_no_decay.py", "LightningAttention2NoDecay", KERNELS, False)
_case("parallel", "lightning_attn2_parallel.py", "LightningAttention2Parallel", PARALLEL, True)


@repository.case(FOLDER + "srmsnorm.py", "srms_norm_fw, srms_norm_bwd_dx_fused", small=dict(m=9, n=300), production=dict(m=4096, n=4096), atol=1e-4)  # fmt: skip
def simple_rms_norm(file, device, m, n):
    x, up = tm.normal(m, n, device=device), tm.normal(m, n, device=device)
    return (
        lambda: tm.with_gradients(lambda x: file._SrmsNorm.apply(x, 1e-6), up, x),
        lambda: tm.with_gradients(lambda x: tm.rms_norm(x, None, 1e-6), up, x, exact=True),
    )
