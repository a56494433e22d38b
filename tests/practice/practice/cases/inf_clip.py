"""Inf-CLIP: the logarithm of a sum over all pairs, and its gradients, with tf32 by inline PTX."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("DAMO-NLP-SG/Inf-CLIP", "d9f2833b3753ab1342db46666523c6621012fbf6")
FILE = "inf_cl/flash.py"


def _pairs(n, m, d, device):
    return [torch.nn.functional.normalize(torch.randn(x, d), dim=-1).to(device) * 4 for x in (n, m)]


@repository.case(FILE, "_prob_fwd_kernel", small=dict(n=70, m=150, d=128), production=dict(n=8192, m=8192, d=512), rtol=1e-2, atol=1e-2)  # fmt: skip
def loss(file, device, n, m, d):
    q, k = _pairs(n, m, d, device)
    labels = torch.randint(0, m, (n,)).to(device)

    def want():
        logits = 0.5 * q.double() @ k.double().T
        return logits.logsumexp(-1) - logits.gather(1, labels[:, None])[:, 0]

    return lambda: file.cal_flash_loss(q, k, labels, 0.5, head_dim=64), want


@repository.case(FILE, "_prob_fwd_kernel, _dq_prob_bwd_kernel, _dk_prob_bwd_kernel", small=dict(n=64, m=150, d=128), production=dict(n=4096, m=4096, d=512), rtol=2e-2, atol=1e-3)  # fmt: skip
def gradients(file, device, n, m, d):
    q, k = _pairs(n, m, d, device)
    upstream = tm.normal(n, device=device)

    def flash(a, b):
        return file.FlashProb.apply(a.view(n, -1, 64), b.view(m, -1, 64))

    def exact(a, b):
        return (a @ b.T).logsumexp(-1)

    return (
        lambda: tm.with_gradients(flash, upstream, q, k)[1:],
        lambda: tm.with_gradients(exact, upstream, q, k, exact=True)[1:],
    )
