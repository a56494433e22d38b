"""NeMo: log-probabilities of the labels and of the blank for RNN-T losses, with gradients."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "NVIDIA/NeMo",
    "8cfedd7203462cb251a914e700e5605444277561",
    packages={"nemo": "."},
)
LOGPROBS = "nemo/collections/asr/parts/k2/rnnt_logprobs_triton.py"


@repository.case(LOGPROBS, "_rnnt_logprobs_fwd_kernel, _rnnt_logprobs_bwd_kernel", small=dict(b=2, t=5, u=4, d=33), production=dict(b=8, t=128, u=32, d=1025), rtol=1e-4, atol=1e-4)  # fmt: skip
def rnnt_logprobs(file, device, b, t, u, d):
    logits = tm.normal(b, t, u + 1, d, device=device)
    targets = tm.integers(0, d - 1, b, u, device=device)
    lengths = [torch.tensor(tm.lengths(b, n), device=device) for n in (t, u)]
    ups = [tm.normal(b, t, u + 1, device=device) for _ in range(2)]
    blank = d - 1

    def graded(function, exact):
        x = (logits.double() if exact else logits).clone().requires_grad_()
        scores = function(x)
        torch.autograd.backward(scores, [up.to(scores[0].dtype) for up in ups])
        return [score.detach() for score in scores], x.grad

    def right(x):
        logs = x.log_softmax(-1)
        rows = torch.arange(t, device=device)[:, None] < lengths[0][:, None, None]
        columns = torch.arange(u + 1, device=device)[None, None]
        label = torch.nn.functional.pad(targets, (0, 1))[:, None, :, None].expand(b, t, u + 1, 1)
        of_label = logs.gather(-1, label)[..., 0] * (rows & (columns < lengths[1][:, None, None]))
        return of_label, logs[..., blank] * (rows & (columns <= lengths[1][:, None, None]))

    return (
        lambda: graded(lambda x: file.rnnt_logprobs_triton(x, targets, blank, *lengths), False),
        lambda: graded(right, True),
    )
