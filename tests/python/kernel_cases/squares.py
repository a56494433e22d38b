"""Products of operands that lie across in memory, and of a product with itself."""

from __future__ import annotations

import blockscope as triton
import blockscope.language as tl
import torch

from .case import case, integers, normal

f16 = torch.float16


@triton.jit
def matpow(a, o, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(a + i[:, None] * N + i[None, :])
    r = (i[:, None] == i[None, :]).to(tl.float16)
    while n > 0:
        if n & 1:
            r = tl.dot(r, x).to(tl.float16)
        x = tl.dot(x, x, out_dtype=tl.float16)
        n = n >> 1
    tl.store(o + i[:, None] * N + i[None, :], r)


case(
    "matrix_power",
    matpow,
    [normal(64, 64, dtype=f16, scale=1 / 16), torch.zeros(64, 64, dtype=f16), 5],
    (1,),
    lambda a, *_: {1: torch.linalg.matrix_power(a.float(), 5)},
    N=64,
)


@triton.jit
def mmT(
    a,
    b,
    c,
    K,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    TA: tl.constexpr,
    TB: tl.constexpr,
    P: tl.constexpr,
    OUT: tl.constexpr = tl.float32,
):
    rm = tl.arange(0, BM)
    rn = tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), OUT)
    for k in range(0, K, BK):
        kk = k + rk
        if TA:
            x = tl.load(a + kk[:, None] * BM + rm[None, :]).T
        else:
            x = tl.load(a + rm[:, None] * K + kk[None, :])
        if TB:
            y = tl.load(b + rn[:, None] * K + kk[None, :]).T
        else:
            y = tl.load(b + kk[:, None] * BN + rn[None, :])
        acc = tl.dot(x, y, acc, input_precision=P, out_dtype=OUT)
    tl.store(c + rm[:, None] * BN + rn[None, :], acc)


def want_product(a, b, *_):
    return {2: a.double().T @ b.double().T}


case(
    "transposed_int8",
    mmT,
    [
        integers(-9, 9, 192, 64, dtype=torch.int8),
        integers(-9, 9, 64, 192, dtype=torch.int8, seed=1),
        torch.zeros(64, 64, dtype=torch.int32),
        192,
    ],
    (1,),
    want_product,
    BM=64,
    BN=64,
    BK=64,
    TA=1,
    TB=1,
    P="tf32",
    OUT=tl.int32,
)
case(
    "transposed_tf32",
    mmT,
    [normal(96, 64, scale=0.3), normal(64, 96, scale=0.3, seed=1), torch.zeros(64, 64), 96],
    (1,),
    want_product,
    BM=64,
    BN=64,
    BK=32,
    TA=1,
    TB=1,
    P="tf32",
)
case(
    "transposed_fp8",
    mmT,
    [
        normal(192, 64, scale=0.3).to(torch.float8_e4m3fn),
        normal(64, 192, scale=0.3, seed=1).to(torch.float8_e4m3fn),
        torch.zeros(64, 64),
        192,
    ],
    (1,),
    want_product,
    BM=64,
    BN=64,
    BK=64,
    TA=1,
    TB=1,
    P="tf32",
)
