"""Products of matrices: quantized, split, ragged, transposed, in while loops."""

from __future__ import annotations

import blockscope as triton
import blockscope.language as tl
import torch

from .case import case, integers, normal

bf16, f16 = torch.bfloat16, torch.float16
nn = torch.nn.functional


@triton.jit
def gelu(x):
    return 0.5 * x * (1 + tl.math.erf(x * 0.7071067811865476))


@triton.jit
def fused_mlp(
    x_ptr,
    w1_ptr,
    b1_ptr,
    w2_ptr,
    out_ptr,
    M,
    H,
    D: tl.constexpr,
    BM: tl.constexpr,
    BH: tl.constexpr,
):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rd = tl.arange(0, D)
    x = tl.load(x_ptr + rm[:, None] * D + rd[None, :], mask=rm[:, None] < M, other=0.0)
    acc = tl.zeros((BM, D), tl.float32)
    for h in range(0, H, BH):
        rh = h + tl.arange(0, BH)
        w1 = tl.load(w1_ptr + rd[:, None] * H + rh[None, :], mask=rh[None, :] < H, other=0.0)
        b1 = tl.load(b1_ptr + rh, mask=rh < H, other=0.0)
        hid = gelu(tl.dot(x, w1) + b1[None, :]).to(x.dtype)
        w2 = tl.load(w2_ptr + rh[:, None] * D + rd[None, :], mask=rh[:, None] < H, other=0.0)
        acc = tl.dot(hid, w2, acc)
    tl.store(
        out_ptr + rm[:, None] * D + rd[None, :],
        acc.to(out_ptr.dtype.element_ty),
        mask=rm[:, None] < M,
    )


case(
    "fused_mlp",
    fused_mlp,
    [
        normal(70, 32, dtype=bf16, scale=0.3),
        normal(32, 80, dtype=bf16, scale=0.3),
        normal(80, dtype=bf16),
        normal(80, 32, dtype=bf16, scale=0.3),
        torch.zeros(70, 32, dtype=bf16),
        70,
        80,
    ],
    (2,),
    lambda x, w1, b1, w2, *_: {
        4: nn.gelu(x.float() @ w1.float() + b1.float()).to(bf16).float() @ w2.float()
    },
    tolerance=4e-2,
    D=32,
    BM=64,
    BH=32,
)


@triton.jit
def int4_matmul(
    a_ptr,
    q_ptr,
    s_ptr,
    z_ptr,
    c_ptr,
    M,
    N,
    K,
    G: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        a = tl.load(a_ptr + rm[:, None] * K + k + rk[None, :], mask=rm[:, None] < M, other=0.0)
        q = tl.load(q_ptr + ((k + rk) // 8)[:, None] * N + rn[None, :])
        q = (q >> (((k + rk) % 8) * 4)[:, None]) & 0xF
        g = (k + rk) // G
        s = tl.load(s_ptr + g[:, None] * N + rn[None, :])
        z = tl.load(z_ptr + g[:, None] * N + rn[None, :])
        b = (q.to(tl.float16) - z) * s
        acc += tl.dot(a, b)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc.to(tl.float16), mask=rm[:, None] < M)


def want_int4(a, q, s, z, *_):
    k = torch.arange(128)
    w = ((q[k // 8] >> ((k % 8) * 4)[:, None]) & 0xF).half()
    return {4: a.float() @ ((w - z[k // 32]) * s[k // 32]).float()}


case(
    "int4_matmul",
    int4_matmul,
    [
        normal(20, 128, dtype=f16),
        integers(-(2**31), 2**31 - 1, 16, 64),
        normal(4, 64, dtype=f16, scale=0.1),
        integers(0, 15, 4, 64).half(),
        torch.zeros(20, 64, dtype=f16),
        20,
        64,
        128,
    ],
    (2, 2),
    want_int4,
    G=32,
    BM=16,
    BN=32,
    BK=64,
)


@triton.jit
def splitk(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    sam,
    sak,
    sbk,
    sbn,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    SK: tl.constexpr,
):
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    ps = tl.program_id(2)
    rm = (pm * BM + tl.arange(0, BM)) % M
    rn = (pn * BN + tl.arange(0, BN)) % N
    rm = tl.max_contiguous(tl.multiple_of(rm, BM), BM)
    rk = ps * BK + tl.arange(0, BK)
    a = a_ptr + rm[:, None] * sam + rk[None, :] * sak
    b = b_ptr + rk[:, None] * sbk + rn[None, :] * sbn
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(tl.cdiv(K, BK * SK)):
        rem = K - k * BK * SK
        acc += tl.dot(
            tl.load(a, mask=rk[None, :] < rem, other=0.0),
            tl.load(b, mask=rk[:, None] < rem, other=0.0),
        )
        a += BK * SK * sak
        b += BK * SK * sbk
    om = pm * BM + tl.arange(0, BM)
    on = pn * BN + tl.arange(0, BN)
    tl.atomic_add(
        c_ptr + om[:, None] * N + on[None, :],
        acc,
        mask=(om[:, None] < M) & (on[None, :] < N),
        sem="relaxed",
    )


case(
    "split_k",
    splitk,
    [
        normal(64, 136, dtype=f16, scale=0.3),
        normal(136, 64, dtype=f16, scale=0.3),
        torch.zeros(64, 64),
        64,
        64,
        136,
        1,
        64,
        1,
        136,
    ],
    (1, 1, 2),
    lambda a, b, *_: {2: a.view(136, 64).T.float() @ b.view(64, 136).T.float()},
    stages=4,
    BM=64,
    BN=64,
    BK=64,
    SK=2,
)


@triton.jit
def streamk(
    a_ptr,
    b_ptr,
    c_ptr,
    lock_ptr,
    M,
    N,
    K,
    ipp,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    pid = tl.program_id(0)
    ipt = tl.cdiv(K, BK)
    nn = tl.cdiv(N, BN)
    total = tl.cdiv(M, BM) * nn * ipt
    it = pid * ipp
    end = tl.minimum(it + ipp, total)
    while it < end:
        tile = it // ipt
        te = tl.minimum(end, (tile + 1) * ipt)
        rm = (tile // nn) * BM + tl.arange(0, BM)
        rn = (tile % nn) * BN + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(it % ipt, it % ipt + te - it):
            rk = k * BK + tl.arange(0, BK)
            a = tl.load(
                a_ptr + rm[:, None] * K + rk[None, :], (rm[:, None] < M) & (rk[None, :] < K), 0.0
            )
            b = tl.load(
                b_ptr + rk[:, None] * N + rn[None, :], (rk[:, None] < K) & (rn[None, :] < N), 0.0
            )
            acc += tl.dot(a, b)
        c = c_ptr + rm[:, None] * N + rn[None, :]
        m = (rm[:, None] < M) & (rn[None, :] < N)
        if te - it == ipt:
            tl.store(c, acc, m)
        else:
            while tl.atomic_cas(lock_ptr + tile, 0, 1, sem="acquire") == 1:
                pass
            tl.store(c, tl.load(c, m) + acc, m)
            tl.debug_barrier()
            tl.atomic_xchg(lock_ptr + tile, 0, sem="release")
        it = te


case(
    "stream_k",
    streamk,
    [
        normal(40, 100, dtype=f16, scale=0.3),
        normal(100, 40, dtype=f16, scale=0.3),
        torch.zeros(40, 40),
        torch.zeros(16, dtype=torch.int32),
        40,
        40,
        100,
        5,
    ],
    (4,),
    lambda a, b, *_: {2: a.float() @ b.float()},
    BM=32,
    BN=32,
    BK=32,
)


@triton.jit
def ragged(x, w, starts, o, G, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.arange(0, BM)
    rn = tl.arange(0, BN)
    rk = tl.arange(0, BK)
    for g in range(G):
        lo = tl.load(starts + g)
        hi = tl.load(starts + g + 1)
        for m in range(lo, hi, BM):
            rows = m + rm
            acc = tl.zeros((BM, BN), tl.float32)
            for k in range(0, K, BK):
                xx = tl.load(
                    x + rows[:, None] * K + k + rk[None, :], mask=rows[:, None] < hi, other=0.0
                )
                ww = tl.load(w + g * K * BN + (k + rk)[:, None] * BN + rn[None, :])
                acc = tl.dot(xx, ww, acc)
            tl.store(o + rows[:, None] * BN + rn[None, :], acc, mask=rows[:, None] < hi)


def want_ragged(x, w, starts, *_):
    return {
        3: torch.cat(
            [x[i:j].float() @ w[g].float() for g, (i, j) in enumerate(zip(starts[:-1], starts[1:]))]
        )
    }


case(
    "ragged",
    ragged,
    [
        normal(50, 64, dtype=bf16, scale=0.3),
        normal(4, 64, 32, dtype=bf16, scale=0.3),
        torch.tensor([0, 20, 20, 21, 50], dtype=torch.int32),
        torch.zeros(50, 32),
        4,
        64,
    ],
    (1,),
    want_ragged,
    BM=64,
    BN=32,
    BK=32,
)
