"""Attention: forward with a window and slopes, backward with atomics, decoding from pages."""

from __future__ import annotations

import blockscope as triton
import blockscope.language as tl
import torch

from .case import case, normal

bf16, f16 = torch.bfloat16, torch.float16


@triton.jit
def attn(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    slopes,
    S,
    H,
    scale,
    WINDOW: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    D: tl.constexpr,
    ALIBI: tl.constexpr,
):
    pm = tl.program_id(0)
    bh = tl.program_id(1)
    base = bh.to(tl.int64) * S * D
    rm = pm * BM + tl.arange(0, BM)
    rd = tl.arange(0, D)
    q = tl.load(q_ptr + base + rm[:, None] * D + rd[None, :], rm[:, None] < S, 0.0)
    m_i = tl.full((BM,), -1e30, tl.float32)
    l_i = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    if ALIBI:
        slope = tl.load(slopes + bh % H)
    lo = tl.maximum(0, pm * BM - WINDOW + 1) // BN * BN
    hi = tl.minimum((pm + 1) * BM, S)
    for start in tl.range(lo, hi, BN):
        rn = start + tl.arange(0, BN)
        k = tl.load(k_ptr + base + rn[None, :] * D + rd[:, None], rn[None, :] < S, 0.0)
        s = tl.dot(q, k) * scale
        if ALIBI:
            s += slope * (rn[None, :] - rm[:, None]).to(tl.float32)
        ok = (rm[:, None] >= rn[None, :]) & (rm[:, None] - rn[None, :] < WINDOW) & (rn[None, :] < S)
        s = tl.where(ok, s, -1e30)
        m_n = tl.maximum(m_i, tl.max(s, 1))
        p = tl.where(ok, tl.exp2((s - m_n[:, None]) * 1.4426950408889634), 0.0)
        al = tl.exp2((m_i - m_n) * 1.4426950408889634)
        l_i = l_i * al + tl.sum(p, 1)
        v = tl.load(v_ptr + base + rn[:, None] * D + rd[None, :], rn[:, None] < S, 0.0)
        acc = acc * al[:, None] + tl.dot(p.to(v.dtype), v)
        m_i = m_n
    tl.store(
        o_ptr + base + rm[:, None] * D + rd[None, :],
        (acc / l_i[:, None]).to(o_ptr.dtype.element_ty),
        rm[:, None] < S,
    )


def want_attention(q, k, v, o, slopes, length, heads, scale):
    scores = q.float() @ k.float().transpose(-1, -2) * scale
    distance = torch.arange(length)[:, None] - torch.arange(length)
    scores = scores - slopes[:, None, None] * distance
    scores = scores.masked_fill((distance < 0) | (distance >= 40), -float("inf"))
    return {3: scores.softmax(-1) @ v.float()}


case(
    "attention",
    attn,
    [
        *(normal(2, 70, 64, dtype=bf16, seed=i) for i in range(3)),
        torch.zeros(2, 70, 64, dtype=bf16),
        torch.tensor([0.5, 0.25]),
        70,
        2,
        0.125,
    ],
    (2, 2),
    want_attention,
    tolerance=4e-2,
    WINDOW=40,
    BM=64,
    BN=32,
    D=64,
    ALIBI=1,
)


@triton.jit
def attn_bwd_dkdv(
    q_ptr,
    k_ptr,
    v_ptr,
    do_ptr,
    lse_ptr,
    delta_ptr,
    dk_ptr,
    dv_ptr,
    dq_ptr,
    S,
    scale,
    BM: tl.constexpr,
    BN: tl.constexpr,
    D: tl.constexpr,
):
    pn = tl.program_id(0)
    rn = pn * BN + tl.arange(0, BN)
    rd = tl.arange(0, D)
    k = tl.load(k_ptr + rn[:, None] * D + rd[None, :])
    v = tl.load(v_ptr + rn[:, None] * D + rd[None, :])
    dk = tl.zeros((BN, D), tl.float32)
    dv = tl.zeros((BN, D), tl.float32)
    for m in range(0, S, BM):
        rm = m + tl.arange(0, BM)
        qT = tl.load(q_ptr + rm[None, :] * D + rd[:, None])
        do = tl.load(do_ptr + rm[:, None] * D + rd[None, :])
        pT = tl.exp(tl.dot(k, qT) * scale - tl.load(lse_ptr + rm)[None, :])
        dv += tl.dot(pT.to(do.dtype), do)
        dpT = tl.dot(v, tl.trans(do))
        dsT = (pT * (dpT - tl.load(delta_ptr + rm)[None, :])).to(k.dtype)
        dk += tl.dot(dsT, tl.trans(qT))
        dq = tl.dot(tl.trans(dsT), k) * scale
        tl.atomic_add(dq_ptr + rm[:, None] * D + rd[None, :], dq)
    tl.store(dk_ptr + rn[:, None] * D + rd[None, :], dk * scale)
    tl.store(dv_ptr + rn[:, None] * D + rd[None, :], dv)


def backward_arguments(length, width, dtype):
    q, k, v, gradient = (normal(length, width, dtype=dtype, seed=i, scale=0.5) for i in range(4))
    scores = q.float() @ k.float().T * width**-0.5
    delta = (scores.softmax(-1) @ v.float() * gradient.float()).sum(-1)
    outputs = [torch.zeros(length, width) for _ in range(3)]
    return [q, k, v, gradient, scores.logsumexp(-1), delta, *outputs, length, width**-0.5]


def want_backward(q, k, v, gradient, *rest):
    q, k, v = (x.float().requires_grad_() for x in (q, k, v))
    ((q @ k.T * rest[-1]).softmax(-1) @ v).backward(gradient.float())
    return {6: k.grad, 7: v.grad, 8: q.grad}


case(
    "attention_backward",
    attn_bwd_dkdv,
    backward_arguments(64, 32, f16),
    (1,),
    want_backward,
    stages=2,
    BM=32,
    BN=64,
    D=32,
)


@triton.jit
def paged_decode(
    q, kc, vc, bt, lens, o, scale, MAXB, H: tl.constexpr, D: tl.constexpr, PS: tl.constexpr
):
    b = tl.program_id(0)
    h = tl.arange(0, H)
    d = tl.arange(0, D)
    s = tl.arange(0, PS)
    ln = tl.load(lens + b)
    qv = tl.load(q + (b * H + h)[:, None] * D + d[None, :])
    m = tl.full([H], float("-inf"), tl.float32)
    l = tl.full([H], 0.0, tl.float32)
    acc = tl.zeros([H, D], tl.float32)
    for p in range(tl.cdiv(ln, PS)):
        pg = tl.load(bt + b * MAXB + p).to(tl.int64)
        msk = p * PS + s < ln
        kT = tl.load(kc + (pg * PS + s)[None, :] * D + d[:, None], mask=msk[None, :], other=0.0)
        w = tl.where(msk[None, :], tl.dot(qv, kT) * scale, float("-inf"))
        mn = tl.maximum(m, tl.max(w, 1))
        e = tl.exp(w - mn[:, None])
        al = tl.exp(m - mn)
        vv = tl.load(vc + (pg * PS + s)[:, None] * D + d[None, :], mask=msk[:, None], other=0.0)
        acc = acc * al[:, None] + tl.dot(e.to(vv.dtype), vv)
        l = l * al + tl.sum(e, 1)
        m = mn
    tl.store(o + (b * H + h)[:, None] * D + d[None, :], acc / l[:, None])


def want_paged(q, keys, values, pages, lengths, o, scale, most):
    rows = []
    for b, length in enumerate(lengths.tolist()):
        k, v = (x[pages[b].long()].flatten(0, 1)[:length].float() for x in (keys, values))
        rows.append((q[b].float() @ k.T * scale).softmax(-1) @ v)
    return {5: torch.stack(rows)}


case(
    "paged_decode",
    paged_decode,
    [
        normal(2, 16, 64, dtype=bf16),
        normal(8, 16, 64, dtype=bf16),
        normal(8, 16, 64, dtype=bf16, seed=1),
        torch.tensor([[3, 1, 7], [0, 5, 2]], dtype=torch.int32),
        torch.tensor([37, 16], dtype=torch.int32),
        torch.zeros(2, 16, 64),
        0.125,
        3,
    ],
    (2,),
    want_paged,
    H=16,
    D=64,
    PS=16,
)
