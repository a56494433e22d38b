"""flash-triangle-attention: attention over the rows of a pair representation, with a pair bias."""

from __future__ import annotations

from practice import torch_math as tm
from practice.case import PYTEST, Repository

repository = Repository("BryanZWu/flash-triangle-attention", "f90d79b2205fcbe25723c0fe7896af61934f863d", stand_ins=PYTEST)  # fmt: skip


def _inputs(device, h, n, d):
    q, k, v, up = (tm.normal(1, h, n, n, d, device=device, scale=0.5).half() for _ in range(4))
    return q, k, v, tm.normal(1, h, n, n, device=device, scale=0.5).half(), up


def _right(q, k, v, bias):
    return ((q @ k.mT) * q.shape[-1] ** -0.5 + bias[:, :, None]).softmax(-1) @ v


@repository.case("flash_tt_attn.py", "_attn_fwd, _attn_fwd_inner", small=dict(h=1, n=128, d=64), production=dict(h=4, n=256, d=64), rtol=1e-2, atol=1e-2)  # fmt: skip
def forward(file, device, h, n, d):
    q, k, v, bias, _ = _inputs(device, h, n, d)
    return (
        lambda: file.attention(q, k, v, bias, d**-0.5),
        lambda: _right(*(x.cpu().double() for x in (q, k, v, bias))),
    )


@repository.case("flash_tt_attn.py", "_attn_bwd_preprocess, _attn_bwd, _attn_bwd_dkdv, _attn_bwd_dq_db_pw", small=dict(h=1, n=128, d=64), production=dict(h=4, n=256, d=64), rtol=2e-2, atol=5e-2, share=1e-3)  # fmt: skip
def backward(file, device, h, n, d):
    q, k, v, bias, up = _inputs(device, h, n, d)
    return (
        lambda: tm.with_gradients(lambda *x: file.attention(*x, d**-0.5), up, q, k, v, bias),
        lambda: tm.with_gradients(
            _right, up.cpu(), *(x.cpu() for x in (q, k, v, bias)), exact=True
        ),
    )
