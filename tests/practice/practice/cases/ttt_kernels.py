"""ttt-lm-kernels: a step of a model whose state is a layer that is trained as it goes."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("test-time-training/ttt-lm-kernels", "99851e6dcc44060952a5618f0131a5ca6d7f6519", packages={"ttt": "."})  # fmt: skip


def _normed(z):
    mean, var = z.mean(-1, keepdim=True), z.var(-1, unbiased=False, keepdim=True)
    return (z - mean) / (var + 1e-6).sqrt(), (var + 1e-6).sqrt()


def _step(w, dw, b, db, xv, xk, xq, weight, bias, rate, index):
    """The gradients with this token's, the layer with them, and its output."""
    f = w.shape[-1]
    hat, std = _normed(xk @ w + b)
    g = (weight * hat + bias - (xv - xk)) * weight
    dz = rate * (f * g - g.sum(-1, keepdim=True) - hat * (g * hat).sum(-1, keepdim=True)) / (std * f)  # fmt: skip
    dw, db = dw + xk.mT * dz, db + dz
    w, b = w - index * dw, b - index * db
    return dw, db, w, b, xq + weight * _normed(xq @ w + b)[0] + bias


def _decode(kernel, is_last):
    def build(file, device, b, h, f):
        w, dw = (tm.normal(b, h, f, f, device=device) / f**0.5 for _ in range(2))
        rows = [tm.normal(b, h, 1, f, device=device) for _ in range(5)]  # b, db, XV, XK, XQ
        weight, bias = (tm.normal(h, 1, f, device=device) for _ in range(2))
        rate, index = torch.rand(b, h, 1, 1).to(device), torch.rand(1).to(device)

        def run():
            state = [x.clone() for x in (w, dw, rows[0], rows[1])]
            out = torch.empty_like(rows[2])
            strides = (
                *w.stride()[:3], *rows[0].stride()[:3], *rows[2].stride()[:3],
                weight.stride(0), weight.stride(1), rate.stride(0), rate.stride(1),
            )  # fmt: skip
            getattr(file, kernel)[(b, h)](*state, *rows[2:], weight, bias, rate, index, out, *strides, CS=1, HF=f)  # fmt: skip
            return (state[0], state[2], out) if is_last else (state[1], state[3], out)

        def want():
            exact = [x.cpu().double() for x in (w, dw, *rows, weight, bias, rate, index)]
            dw_, db_, w_, b_, out = _step(*exact)
            return (w_, b_, out) if is_last else (dw_, db_, out)

        return run, want

    return build


for _name, _kernel, _last in (("token", "_decode_token_ker", False), ("last_token", "_decode_last_token_in_mini_batch_ker", True)):  # fmt: skip
    repository.case("ttt/triton_kernel/ttt_linear_decode.py", _kernel, small=dict(b=2, h=3, f=32), production=dict(b=64, h=32, f=64), rtol=2e-3, atol=2e-3, name=_name)(_decode(_kernel, _last))  # fmt: skip
