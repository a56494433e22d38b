"""INT-FlashAttention: attention with queries and keys, and values too, of 8 bits."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import PYTEST, Repository

repository = Repository("INT-FlashAttention2024/INT-FlashAttention", "7f7bfb00bcd26b2cef49e7783f51ef610e05abf7", folders=(".",), stand_ins=PYTEST)  # fmt: skip
SIZES = dict(small=dict(b=1, h=2, t=256, d=64), production=dict(b=1, h=16, t=4096, d=128))


def _quantised(x, axes):
    """int8 values, and a scale for the elements along the axes."""
    scale = x.float().abs().amax(axes, keepdim=True) / 127
    return (x.float() / scale).round().to(torch.int8), scale.half()


def _one(kernel):
    kernel.configs = [c for c in kernel.configs if c.kwargs["BLOCK_M"] == 128 and c.kwargs["BLOCK_N"] == 64][:1]  # fmt: skip


def _inputs(device, b, h, t, d):
    q, k, v = (tm.normal(b, h, t, d, device=device) for _ in range(3))
    (q, of_q), (k, of_k) = _quantised(q, -1), _quantised(k, -1)
    return q, k, v, of_q, of_k


@repository.case("flash_atten_int8.py", "_attn_fwd_int8, _attn_fwd_inner_int8", rtol=1e-2, atol=1e-2, **SIZES)  # fmt: skip
def causal(file, device, b, h, t, d):
    q, k, v, of_q, of_k = _inputs(device, b, h, t, d)
    v = v.half()
    _one(file._attn_fwd_int8)
    return (
        lambda: file.attention_int8(q, k, v, of_q[..., 0], of_k[..., 0], True, d**-0.5),
        lambda: tm.attention(q.double() * of_q, k.double() * of_k, v, causal=True)[0],
    )


@repository.case("flash_atten_full_int8.py", "_attn_fwd_full_int8, _attn_fwd_inner_full_int8", rtol=3e-2, atol=3e-2, **SIZES)  # fmt: skip
def all_of_8_bits(file, device, b, h, t, d):
    """The probabilities too have 8 bits."""
    q, k, v, of_q, of_k = _inputs(device, b, h, t, d)
    v, of_v = _quantised(v, (-2, -1))
    _one(file._attn_fwd_full_int8)
    return (
        lambda: file.attention_full_int8(
            q, k, v, of_q[..., 0], of_k[..., 0], of_v[..., 0, 0], False, d**-0.5
        ),
        lambda: tm.attention(q.double() * of_q, k.double() * of_k, v.double() * of_v)[0],
    )
