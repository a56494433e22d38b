"""Cases for foreign.py in the classes of kernels that people write: our own, none of them tuned."""

import torch
import triton
import triton.language as tl
from foreign_worker import empty, randint, randn


@triton.jit
def gather_gemm(
    a_ptr,
    b_ptr,
    c_ptr,
    idx_ptr,
    M,
    N,
    K,
    sam,
    sbk,
    scm,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    """Rows of B are gathered by an index along K."""
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    rm = pm * BM + tl.arange(0, BM)
    rn = pn * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        idx = tl.load(idx_ptr + k + rk)
        a = tl.load(a_ptr + rm[:, None] * sam + (k + rk)[None, :], mask=rm[:, None] < M, other=0.0)
        b = tl.load(b_ptr + idx[:, None] * sbk + rn[None, :], mask=rn[None, :] < N, other=0.0)
        acc += tl.dot(a, b)
    tl.store(
        c_ptr + rm[:, None] * scm + rn[None, :],
        acc.to(c_ptr.dtype.element_ty),
        mask=(rm[:, None] < M) & (rn[None, :] < N),
    )


@triton.jit
def batched_strided(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    sab,
    sam,
    sak,
    sbb,
    sbk,
    sbn,
    scb,
    scm,
    scn,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    """Offsets of 64 bits, remainders of rows, masks of K."""
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    bz = tl.program_id(2).to(tl.int64)
    rm = (pm * BM + tl.arange(0, BM)) % M
    rn = (pn * BN + tl.arange(0, BN)) % N
    rk = tl.arange(0, BK)
    a_ptrs = a_ptr + bz * sab + (rm[:, None] * sam + rk[None, :] * sak)
    b_ptrs = b_ptr + bz * sbb + (rk[:, None] * sbk + rn[None, :] * sbn)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(tl.cdiv(K, BK)):
        a = tl.load(a_ptrs, mask=rk[None, :] < K - k * BK, other=0.0)
        b = tl.load(b_ptrs, mask=rk[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BK * sak
        b_ptrs += BK * sbk
    cm = pm * BM + tl.arange(0, BM)
    cn = pn * BN + tl.arange(0, BN)
    c_ptrs = c_ptr + bz * scb + cm[:, None] * scm + cn[None, :] * scn
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=(cm[:, None] < M) & (cn[None, :] < N))


@triton.jit
def rows_reduce(x_ptr, y_ptr, w_ptr, n_cols, stride, eps, BLOCK: tl.constexpr):
    """Two passes over a long row"""
    row = tl.program_id(0)
    x_ptr += row * stride
    y_ptr += row * stride
    total = tl.zeros([BLOCK], tl.float32)
    for off in range(0, n_cols, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
        total += x * x
    r = tl.rsqrt(tl.sum(total, 0) / n_cols + eps)
    for off in range(0, n_cols, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        mask = cols < n_cols
        x = tl.load(x_ptr + cols, mask=mask, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + cols, mask=mask)
        tl.store(y_ptr + cols, (x * r * w).to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def strided_copy(
    x_ptr, y_ptr, n0, n1, n2, sx0, sx1, sx2, sy0, sy1, sy2, total, BLOCK: tl.constexpr
):
    """A permutation: indices by division and remainder"""
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < total
    i2 = offs % n2
    i1 = (offs // n2) % n1
    i0 = offs // (n2 * n1)
    x = tl.load(x_ptr + i0 * sx0 + i1 * sx1 + i2 * sx2, mask=mask)
    tl.store(y_ptr + i0 * sy0 + i1 * sy1 + i2 * sy2, x * 2 + 1, mask=mask)


@triton.jit
def embedding_bag(w_ptr, idx_ptr, out_ptr, n, D, stride, BLOCK: tl.constexpr):
    """The sum of rows by index; a loop without dots"""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK], tl.float32)
    for i in range(n):
        at = tl.load(idx_ptr + row * n + i)
        acc += tl.load(w_ptr + at.to(tl.int64) * stride + cols, mask=cols < D, other=0.0)
    tl.store(out_ptr + row * D + cols, acc, mask=cols < D)


@triton.jit
def int4_gemm(
    a_ptr,
    b_ptr,
    s_ptr,
    c_ptr,
    M,
    N,
    K,
    sam,
    sbk,
    ssk,
    scm,
    GROUPS: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    """Two values a byte, packed along K; scales by groups of K"""
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    rm = pm * BM + tl.arange(0, BM)
    rn = pn * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        a = tl.load(a_ptr + rm[:, None] * sam + (k + rk)[None, :], mask=rm[:, None] < M, other=0.0)
        packed = tl.load(b_ptr + ((k + rk)[:, None] // 2) * sbk + rn[None, :])
        scale = tl.load(s_ptr + (k // GROUPS) * ssk + rn)
        b = (packed >> ((rk[:, None] % 2) * 4)) & 15
        b = ((b - 8).to(tl.float16) * scale[None, :]).to(tl.float16)
        acc = tl.dot(a, b, acc)
    tl.store(
        c_ptr + rm[:, None] * scm + rn[None, :],
        acc.to(c_ptr.dtype.element_ty),
        mask=rm[:, None] < M,
    )


def case_gather_gemm():
    a, b = randn(2048, 4096, scale=0.1), randn(8192, 2048, scale=0.1)
    gather_gemm[(16, 16)](
        a, b, empty(2048, 2048), randint(0, 8192, 4096), 2048, 2048, 4096, 4096, 2048, 2048,
        128, 128, 64, num_warps=8, num_stages=3,
    )  # fmt: skip


def case_batched():
    a, b = randn(16, 1000, 1024, scale=0.1), randn(16, 1024, 1000, scale=0.1)
    batched_strided[(8, 8, 16)](
        a, b, empty(16, 1000, 1000), 1000, 1000, 1024, 1000 * 1024, 1024, 1, 1024 * 1000, 1000, 1,
        1000 * 1000, 1000, 1, 128, 128, 32, num_warps=4, num_stages=4,
    )  # fmt: skip


def case_rows_reduce():
    x, w = randn(4096, 32768), randn(32768)
    rows_reduce[(4096,)](x, empty(4096, 32768), w, 32768, 32768, 1e-5, BLOCK=2048, num_warps=8)


def case_strided_copy():
    x, n = randn(64, 512, 2048), 64 * 512 * 2048
    strided_copy[(n // 1024,)](
        x, empty(512, 64, 2048), 64, 512, 2048, 512 * 2048, 2048, 1, 2048, 64 * 2048, 1, n,
        BLOCK=1024,
    )  # fmt: skip


def case_embedding():
    w, index = randn(100000, 1024, dtype=torch.float32), randint(0, 100000, 4096, 32)
    out = empty(4096, 1024, dtype=torch.float32)
    embedding_bag[(4096,)](w, index, out, 32, 1024, 1024, BLOCK=1024)


def case_int4():
    a, scales = randn(128, 4096, scale=0.1), randn(32, 8192, scale=0.1)
    b = randint(-128, 127, 2048, 8192, dtype=torch.int8)
    int4_gemm[(1, 64)](
        a, b, scales, empty(128, 8192), 128, 8192, 4096, 4096, 8192, 8192, 8192, 128,
        128, 128, 64, num_warps=8, num_stages=3,
    )  # fmt: skip
