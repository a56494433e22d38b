"""vl-calib-comp2: the entropy of a distribution and its divergence from another one, by rows."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("UnchartedWhispers/vl-calib-comp2", "c15a30fcec8be278fe14593a07a133719c0835a2")  # fmt: skip


@repository.case("src/triton_kernel.py", "_vc_fused_kernel", small=dict(t=5, v=5000), production=dict(t=1024, v=128256), rtol=1e-3, atol=1e-4)  # fmt: skip
def entropy_and_divergence(file, device, t, v):
    one, two = (tm.normal(t, v, device=device, dtype=torch.float16, scale=2.0) for _ in range(2))

    def want():
        p, q = (x.double().log_softmax(-1) for x in (one, two))
        return -(p.exp() * p).sum(-1), (p.exp() * (p - q)).sum(-1)

    return lambda: file.vc_triton(one, two), want
