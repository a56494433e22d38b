"""TN-PCFG: the inside algorithm of a grammar in log space; its gradients go into the lower half of
the chart."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "sustcsonglin/TN-PCFG", "fa519b5bb729febd12235958964e1b35e7721540", packages={"parser": ""}
)


def _upper(chart, w):
    n = chart.shape[1]
    return [chart[:, i, i + w] for i in range(n - w)]


@repository.case("parser/triton/fn.py", "_kernel_inside_merge, _kernel_bwd_merge, logaddexp", small=dict(b=2, n=8, r=20, w=4), production=dict(b=16, n=40, r=256, w=20), rtol=1e-4, atol=1e-4)  # fmt: skip
def merged_spans(file, device, b, n, r, w):
    chart = tm.normal(b, n, n, 2, r, device=device) * torch.ones(n, n).triu(1)[:, :, None, None].to(device)  # fmt: skip
    up = tm.normal(b, n - w, r, device=device)

    def run():
        c, best = chart.clone().requires_grad_(), torch.empty(b, n - w, device=device)
        indicator = torch.zeros(b, n, n, device=device)
        out, best = file._merge(best, indicator, c)
        (grad,) = torch.autograd.grad(out, c, up)
        return out.detach(), best.detach(), grad

    def want():
        c = chart.double().requires_grad_()
        spans = []
        for i in range(n - w):
            splits = range(i + 1, i + w)
            spans.append(torch.stack([c[:, i, m, 0] + c[:, m, i + w, 1] for m in splits]).logsumexp(0))  # fmt: skip
        scores = torch.stack(spans, 1)
        best = scores.amax(-1).detach()
        out = (scores - best[..., None]).exp()
        (grad,) = torch.autograd.grad(out, c, up.double())
        return out.detach(), best, c.detach() + grad.transpose(1, 2)

    return run, want


@repository.case("parser/triton/fn.py", "kernel_log_and_diagonal_copy, _bwd_log_and_diagonal_copy", small=dict(b=3, n=9, r=20, w=4), production=dict(b=16, n=40, r=512, w=20))  # fmt: skip
def log_to_diagonal(file, device, b, n, r, w):
    chart = tm.normal(b, n, n, 2, r, device=device)
    x, best = torch.rand(b, n - w, 2 * r).to(device), tm.normal(b, n - w, device=device)

    def run():
        c, leaf = chart.clone(), x.clone().requires_grad_()
        out = file._log_then_diagonal_copy_(leaf, best, c)
        (grad,) = torch.autograd.grad(out, leaf, torch.ones_like(out))
        return out.detach(), grad

    def want():
        out, grads = chart.double().clone(), []
        for i in range(n - w):
            out[:, i, i + w] = (torch.log(x[:, i].double() + 1e-9) + best[:, i, None].double()).view(b, 2, r)  # fmt: skip
            grads.append(chart[:, i + w, i].double().flatten(1) / (x[:, i].double() + 1e-9))
        return out, torch.stack(grads, 1)

    return run, want
