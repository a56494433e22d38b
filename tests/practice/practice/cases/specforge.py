"""SpecForge: the loss of a draft model: cross entropy with the distribution of another."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("sgl-project/SpecForge", "a6b6b0230009d15ec2a97a57384e6f53f0f96946")


@repository.case("specforge/core/loss.py", "log_softmax_forward_kernel, log_softmax_backward_kernel", small=dict(b=2, n=10, vocabulary=3000), production=dict(b=2, n=1024, vocabulary=32000), rtol=1e-4, atol=1e-7)  # fmt: skip
def loss(file, device, b, n, vocabulary):
    """The gradient is written over the logits."""
    logits = tm.normal(b, n, vocabulary, device=device, scale=3.0)
    target = tm.normal(b, n, vocabulary, device=device).softmax(-1)
    mask = torch.rand(b, n, 1).gt(0.3).float().to(device)

    def run():
        x = logits.clone().requires_grad_()
        result = file.LogSoftmaxLoss.apply(x, target, mask)
        result.backward()
        return result.detach(), x.grad

    def want():
        x = logits.double().requires_grad_()
        result = -(mask.double() * target.double() * x.log_softmax(-1)).sum(-1).mean()
        result.backward()
        return result.detach(), x.grad

    return run, want
