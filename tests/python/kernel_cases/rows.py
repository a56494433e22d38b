"""Rows: order, scans, reductions of several values, early returns."""

from __future__ import annotations

import blockscope as triton
import blockscope.language as tl
import torch

from .case import case, normal

bf16 = torch.bfloat16
nn = torch.nn.functional


@triton.jit
def topk_packed(x_ptr, i_ptr, w_ptr, N: tl.constexpr, K: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, N)
    x = tl.load(x_ptr + r * N + c).to(tl.float32)
    b = x.to(tl.uint32, bitcast=True)
    b = tl.where((b >> 31) != 0, ~b, b | 0x80000000)
    key = (b.to(tl.uint64) << 32) | (N - 1 - c).to(tl.uint64)
    top = tl.topk(key, K)
    idx = (N - 1) - (top & 0xFFFFFFFF).to(tl.int32)
    h = (top >> 32).to(tl.uint32)
    h = tl.where((h >> 31) != 0, h & 0x7FFFFFFF, ~h)
    v = h.to(tl.float32, bitcast=True)
    w = tl.softmax(v)
    tl.store(i_ptr + r * K + tl.arange(0, K), idx)
    tl.store(w_ptr + r * K + tl.arange(0, K), w)


def want_topk(x, *_):
    values, indices = torch.sort(x.float(), dim=1, descending=True, stable=True)
    return {2: torch.softmax(values[:, :8], 1), 1: indices[:, :8]}


case(
    "topk",
    topk_packed,
    [normal(3, 64, dtype=bf16), torch.zeros(3, 8, dtype=torch.int32), torch.zeros(3, 8)],
    (3,),
    want_topk,
    warps=2,
    N=64,
    K=8,
)


@triton.jit
def xent(l_ptr, t_ptr, loss_ptr, V, ls, ign, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    t = tl.load(t_ptr + row)
    if t == ign:
        tl.store(loss_ptr + row, 0.0)
        for s in range(0, V, BLOCK):
            c = s + tl.arange(0, BLOCK)
            tl.store(l_ptr + row * V + c, 0.0, c < V)
        return
    m = -float("inf")
    d = 0.0
    tot = 0.0
    for s in range(0, V, BLOCK):
        c = s + tl.arange(0, BLOCK)
        x = tl.load(l_ptr + row * V + c, c < V, -float("inf")).to(tl.float32)
        mn = tl.maximum(m, tl.max(x))
        d = d * tl.exp(m - mn) + tl.sum(tl.exp(x - mn))
        m = mn
        tot += tl.sum(tl.where(c < V, x, 0.0))
    lse = m + tl.log(d)
    xt = tl.load(l_ptr + row * V + t).to(tl.float32)
    loss = lse - (1 - ls) * xt - ls * tot / V
    for s in range(0, V, BLOCK):
        c = s + tl.arange(0, BLOCK)
        x = tl.load(l_ptr + row * V + c, c < V, -float("inf")).to(tl.float32)
        g = tl.exp(x - lse) - ls / V
        g = tl.where(c == t, g - (1 - ls), g)
        tl.store(l_ptr + row * V + c, g.to(l_ptr.dtype.element_ty), c < V)
    tl.store(loss_ptr + row, loss)


def want_cross_entropy(logits, targets, loss, columns, smoothing, ignored):
    x = logits.clone().requires_grad_()
    y = nn.cross_entropy(
        x, targets, reduction="none", label_smoothing=smoothing, ignore_index=ignored
    )
    y.sum().backward()
    return {2: y.detach(), 0: x.grad}


case(
    "cross_entropy",
    xent,
    [normal(4, 200), torch.tensor([3, -100, 199, 0]), torch.zeros(4), 200, 0.1, -100],
    (4,),
    want_cross_entropy,
    tolerance=1e-4,
    BLOCK=64,
)


@triton.jit
def welford_combine(m1, s1, n1, m2, s2, n2):
    n = n1 + n2
    d = m2 - m1
    f = tl.where(n > 0, n2 / n, 0.0)
    return m1 + d * f, s1 + s2 + d * d * n1 * f, n


@triton.jit
def welford(x_ptr, mean_ptr, var_ptr, rows, cols, R: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)[:, None]
    c = tl.arange(0, C)[None, :]
    mean = tl.zeros((R, C), tl.float32)
    m2 = tl.zeros((R, C), tl.float32)
    n = tl.zeros((R, C), tl.float32)
    for st in range(0, cols, C):
        m = (r < rows) & (st + c < cols)
        x = tl.load(x_ptr + r * cols + st + c, m, 0.0)
        d = x - mean
        nn = n + 1
        mnew = mean + d / nn
        m2 = tl.where(m, m2 + d * (x - mnew), m2)
        mean = tl.where(m, mnew, mean)
        n = tl.where(m, nn, n)
    a, b, k = tl.reduce((mean, m2, n), 1, welford_combine)
    tl.store(mean_ptr + r, a[:, None], r < rows)
    tl.store(var_ptr + r, (b / k)[:, None], r < rows)


case(
    "welford",
    welford,
    [normal(6, 150), torch.zeros(6), torch.zeros(6), 6, 150],
    (2,),
    lambda x, *_: {1: x.mean(1), 2: x.var(1, unbiased=False)},
    tolerance=1e-4,
    R=4,
    C=64,
)


@triton.jit
def lin_op(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def gated_scan(g, x, o, T: tl.constexpr, D: tl.constexpr):
    p = tl.arange(0, T)[:, None] * D + tl.arange(0, D)[None, :]
    gg = tl.sigmoid(tl.load(g + p).to(tl.float32))
    _, h = tl.associative_scan((gg, tl.load(x + p).to(tl.float32) * (1 - gg)), 0, lin_op)
    tl.store(o + p, h.to(tl.bfloat16))


def want_gated(g, x, _):
    gate, h, rows = g.float().sigmoid(), torch.zeros(x.shape[1]), []
    for t in range(len(x)):
        h = h * gate[t] + x[t].float() * (1 - gate[t])
        rows.append(h)
    return {2: torch.stack(rows)}


case(
    "gated_scan",
    gated_scan,
    [
        normal(128, 8, dtype=bf16),
        normal(128, 8, dtype=bf16, seed=1),
        torch.zeros(128, 8, dtype=bf16),
    ],
    (1,),
    want_gated,
    warps=8,
    T=128,
    D=8,
)


@triton.jit
def rot(x, A: tl.constexpr, B: tl.constexpr, DIM: tl.constexpr = 1):
    y = tl.reshape(x, (A, 2, B // 2)) if DIM == 1 else tl.reshape(x, (2, A // 2, B))
    y = tl.permute(y, (0, 2, 1)) if DIM == 1 else tl.permute(y, (1, 2, 0))
    return tl.split(y)


@triton.jit
def hadamard(x, o, A: tl.constexpr, B: tl.constexpr):
    p = tl.arange(0, A)[:, None] * B + tl.arange(0, B)[None, :]
    v = tl.load(x + p)
    for _ in tl.static_range(3):
        a, b = rot(v, A, B)
        v = tl.reshape(tl.join(a + b, a - b), (A, B))
    a, b = rot(v, A, B, DIM=0)
    v = tl.reshape(tl.permute(tl.join(a * 2, b), (2, 0, 1)), (A, B))
    tl.store(o + p, v)


def want_hadamard(x, _):
    v = x
    for _ in range(3):
        a, b = v.chunk(2, dim=1)
        v = torch.stack([a + b, a - b], -1).reshape(x.shape)
    v = v.clone()
    v[: len(v) // 2] *= 2
    return {1: v}


case(
    "hadamard",
    hadamard,
    [normal(32, 64), torch.zeros(32, 64)],
    (1,),
    want_hadamard,
    tolerance=1e-5,
    warps=2,
    A=32,
    B=64,
)
