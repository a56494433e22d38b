"""ttt-video-dit: a linear model that is trained while a sequence is read, with gradients."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "test-time-training/ttt-video-dit",
    "6c316a70e354eec671d35c2177f0439577c8c0de",
    packages={"ttt": ""},
)


def _steps(weight, bias, w, c, q, v, k, rate):
    out, heads, d = [], weight.shape[0], weight.shape[1]
    weight, bias = weight.view(heads, 1, d), bias.view(heads, 1, d)
    for i in range(q.shape[2]):
        x, lr = k[:, :, i], rate[:, :, i]
        z = x @ w + c
        spread = (z.var(-1, unbiased=False, keepdim=True) + 1e-6).sqrt()
        normal = (z - z.mean(-1, keepdim=True)) / spread
        g = (weight * normal + bias - (v[:, :, i] - x)) * weight
        g = (g - g.mean(-1, keepdim=True) - normal * (g * normal).mean(-1, keepdim=True)) / spread
        scores = q[:, :, i] @ x.mT
        y = q[:, :, i] @ w - (lr * scores) @ g + c - lr @ g
        y = F.layer_norm(y, (d,), eps=1e-6) * weight + bias
        out.append(q[:, :, i] + y)
        last = lr[:, :, -1, :, None]
        w, c = w - (last * x).mT @ g, c - (last * g).sum(-2, keepdim=True)
    return torch.stack(out, 2)


@repository.case("ttt/models/ssm/linear_triton.py", "ttt_linear_scan_forward, ttt_linear_scan_backward", small=dict(b=1, h=2, n=4, c=16, d=16, group=2), production=dict(b=1, h=48, n=64, c=64, d=64, group=16), rtol=2e-2, atol=0.1, share=0.05)  # fmt: skip
def linear_model(file, device, b, h, n, c, d, group):
    weight, bias = torch.rand(h, d).to(device) + 0.5, tm.normal(h, d, device=device, scale=0.1)
    w, start = tm.normal(b, h, d, d, device=device, scale=0.1), tm.normal(b, h, 1, d, device=device, scale=0.1)  # fmt: skip
    q, v, k, up = (tm.normal(b, h, n, c, d, device=device, scale=0.5) for _ in range(4))
    rate = torch.rand(b, h, n, 1, c).expand(b, h, n, c, c).contiguous().to(device) * 0.1 / c
    inputs = weight, bias, w, start, q, v, k, rate

    def gradients(grads):
        *others, rate_grad = grads
        return *others, rate_grad.sum(-2)  # the kernel has the rows of a step alike

    def run():
        return gradients(tm.with_gradients(lambda *x: file.TritonLinear.apply(*x, group), up, *inputs))  # fmt: skip

    return run, lambda: gradients(tm.with_gradients(_steps, up, *inputs, exact=True))
