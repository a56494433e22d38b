"""efficient_cross_entropy: the last layer and its loss in chunks, the gradient in place of logits."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("mgmalek/efficient_cross_entropy", "049d44460051a82f58f7ff49a2ad0653ecf026d8")  # fmt: skip


@repository.case("modules.py", "fused_cross_entropy_fwd_bwd_kernel", small=dict(m=24, d=32, n=100, parts=3), production=dict(m=8192, d=2048, n=50257, parts=8), rtol=1e-3, atol=1e-4)  # fmt: skip
def projected_loss(file, device, m, d, n, parts):
    x, w = tm.normal(m, d, device=device), tm.normal(n, d, device=device)
    labels, up = tm.integers(0, n, m, device=device), torch.tensor(0.5, device=device)
    labels[3] = -100

    def triton(x, w):
        return file.FusedCrossEntropyLossFunction.apply(x, w, labels, parts, -100, "mean")

    return (
        lambda: tm.with_gradients(triton, up, x, w),
        lambda: tm.with_gradients(lambda x, w: F.cross_entropy(x @ w.T, labels.cpu()), up.cpu(), x.cpu(), w.cpu(), exact=True),
    )  # fmt: skip
