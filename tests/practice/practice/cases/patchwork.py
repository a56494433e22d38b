"""Patchwork: the soft maximum of many planes at points, with the plane that is highest and the mean
of the weights, and its gradients."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "Ankbzpx/patchwork-experiment",
    "239ce321819372166937967c6980e78461054e0b",
    stand_ins={"jaxtyping": {}, "icecream": {}},
)
FILE = "triton_kernel.py"
SIZES = dict(small=dict(points=100, planes=130), production=dict(points=8192, planes=8192))


def _inputs(points, planes, device):
    x, a = (tm.normal(n, 4, device=device) for n in (points, planes))
    s = (torch.rand(planes) + 0.1).to(device)
    return x, a, s, torch.tensor([0.7], device=device)


def _soft_maximum(x, a, s, beta):
    z = beta * (x @ a.T) + s.log()
    return z.logsumexp(1) / beta, z.softmax(1) @ s, z.amax(1)


@repository.case(FILE, "sum_exp_kernel", rtol=1e-4, atol=1e-4, **SIZES)
def soft_maximum(file, device, points, planes):
    x, a, s, beta = inputs = _inputs(points, planes, device)

    def run():
        value, most, mean, best, _ = file.logsumexp(x, a, s, beta)
        return value, mean, most, (beta * x * a[best.long()]).sum(1) + s[best.long()].log()

    def want():
        value, mean, most = _soft_maximum(*(i.double() for i in inputs))
        return value, mean, most, most  # of two equally high, either

    return run, want


@repository.case(FILE, "grad_logsumexp_kernel, sum_exp_kernel", rtol=1e-3, atol=1e-3, **SIZES)
def gradients(file, device, points, planes):
    x, a, s, beta = inputs = _inputs(points, planes, device)
    upstream = tm.normal(points, device=device)

    def run():
        most, _, _, sums = file.eval_sum_exp_triton(x, a, s, beta)
        none = torch.zeros_like(upstream)
        return file.eval_grad_logsumexp_triton(a, s, beta, most, sums, upstream, none, x)

    def want():
        x, *leaves = (i.double().detach().requires_grad_() for i in inputs)
        value = _soft_maximum(x, *leaves)[0]
        return torch.autograd.grad(value, leaves, upstream.double())

    return run, want
