"""Apple's cut cross-entropy: losses without logits in memory, sums under spin locks."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "apple/ml-cross-entropy",
    "d42911f9b1a1f98289bb601c35c8151562603d74",
    packages={"cut_cross_entropy": "."},
)
FILE = "cut_cross_entropy/cce.py"
KERNELS = "_cce_lse_forward_kernel, _indexed_neg_dot_forward_kernel, _cce_backward_kernel"
SMALL, LARGE = dict(n=200, v=300, d=96), dict(n=8192, v=128256, d=4096)


def _case(name, dtype, tolerance, softcap=None, bias=False, shift=0, ignored=False, **options):
    def build(file, device, n, v, d):
        e = tm.normal(n, d, device=device, dtype=dtype)
        c = tm.normal(v, d, device=device, dtype=dtype, scale=d**-0.5)
        biases = [tm.normal(v, device=device, dtype=dtype)] if bias else []
        targets = tm.integers(0, v, n, device=device)
        if ignored:
            targets[::3] = -100
        up = torch.tensor(1.5, device=device)

        def ours(e, c, *b):
            return file.cce_linear_cross_entropy(
                e, c, targets, *b, softcap=softcap, shift=shift, filter_eps=None, **options
            )[0]

        def right(e, c, *b):
            logits = F.linear(e, c, *b)
            if softcap:
                logits = softcap * torch.tanh(logits / softcap)
            if shift:
                return F.cross_entropy(logits[:-1], targets[1:])
            return F.cross_entropy(logits, targets)

        return (
            lambda: tm.with_gradients(ours, up, e, c, *biases),
            lambda: tm.with_gradients(right, up, e, c, *biases, exact=True),
        )

    repository.case(FILE, KERNELS, small=SMALL, production=LARGE, rtol=tolerance, atol=tolerance, name=name)(build)  # fmt: skip


_case("loss", torch.float32, 1e-3)
_case("loss_fp32_sums", torch.bfloat16, 2e-2, accum_e_fp32=True, accum_c_fp32=True)
_case("loss_softcap_bias", torch.float32, 1e-3, softcap=20.0, bias=True)
_case("loss_shift_ignored", torch.float32, 1e-3, shift=1, ignored=True)
