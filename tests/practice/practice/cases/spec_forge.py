"""SpecForge: the loss of a draft model against the probabilities of the target, in place."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "sgl-project/SpecForge", "a6b6b0230009d15ec2a97a57384e6f53f0f96946",
    packages={"specforge": "."},
)  # fmt: skip


@repository.case("specforge/core/loss.py", "log_softmax_forward_kernel, log_softmax_backward_kernel", small=dict(b=2, m=5, n=700), production=dict(b=2, m=2048, n=32000), rtol=1e-3, atol=1e-5)  # fmt: skip
def loss(file, device, b, m, n):
    x, target = tm.normal(b, m, n, device=device), tm.normal(b, m, n, device=device).softmax(-1)
    mask = (torch.rand(b, m, 1) < 0.7).to(device)

    def run():
        leaf = x.clone().requires_grad_()
        value = file.LogSoftmaxLoss.apply(leaf * 1.0, target, mask)
        return value.detach(), torch.autograd.grad(value * (b * m), leaf)[0]

    def want():
        leaf = x.double().requires_grad_()
        value = -(mask * target.double() * leaf.log_softmax(-1)).sum(-1).mean()
        return value.detach(), torch.autograd.grad(value * (b * m), leaf)[0]

    return run, want
