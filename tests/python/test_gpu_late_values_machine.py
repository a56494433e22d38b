"""Tiles with more elements for a thread than there are registers: values are made late and used up
early (gpu_backend/codegen/late_values), the results stay. Run by ptx_machine.py.
"""

from __future__ import annotations

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import numpy as np
import ptx_machine
import ptx_matrix_machine
import pytest

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)


@triton.jit
def part_sum(x_ptr, out_ptr, first, last, M: tl.constexpr, N: tl.constexpr):
    i, j, k = tl.arange(0, M)[:, None, None], tl.arange(0, N)[None, :, None], tl.arange(0, N)
    k = k[None, None, :]
    mask = (i >= first) & (i < last) & (j >= first) & (j < last) & (k >= first) & (k < last)
    x = tl.load(x_ptr + i * (N * N) + j * N + k, mask=mask, other=0).to(tl.int64)
    tl.store(out_ptr, tl.sum(tl.sum(tl.sum(tl.where(mask, x, 0), 2), 1), 0))


def test_a_long_sum_spills_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """256 elements a thread, of 64 bits when they are added: twice the registers there are.
    Written op by op they took 304 words of local memory."""
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    m, n, first, last = 32, 32, 3, 30
    x = np.random.default_rng(0).integers(-(2**31), 2**31, (m, n, n), dtype=np.int32)
    out = np.zeros(1, np.int64)
    compiled = part_sum.warmup(x, out, first, last, m, n, grid=(1,), arch="sm_90a", num_warps=4)
    ptx_machine.run(compiled, [x, out, first, last])
    assert out[0] == x[first:last, first:last, first:last].astype(np.int64).sum()
    assert compiled.n_spills == 0


@triton.jit
def weighted_rows(
    w_ptr, x_ptr, out_ptr, rows, M: tl.constexpr, N: tl.constexpr, MASKED: tl.constexpr
):
    """Weights of a softmax, which all threads have to know before the rows are added up."""
    m, n = tl.arange(0, M)[:, None], tl.arange(0, N)
    w = tl.load(w_ptr + m, mask=m < M, other=0.0)
    w = w - tl.max(w, 0)[:, None]
    mask = (m < M) & (tl.program_id(0) * N + n < rows)[None, :] if MASKED else None
    x = tl.load(x_ptr + m * N + n[None, :], mask=mask).to(tl.float32)
    tl.store(out_ptr + n, tl.sum(w * x, 0))


@pytest.mark.parametrize("is_masked", [False, True])
def test_a_tile_far_larger_than_a_thread(is_masked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """1024 words of rows a thread, and 256 weights. With the rows loaded before the weights are
    passed on, all of them waited on the stack; under masks they did so anyway."""
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    m, n = 1024, 64
    rng = np.random.default_rng(5)
    w = rng.integers(-3, 4, m).astype(np.float32)
    x, out = rng.integers(-3, 4, (m, n)).astype(np.float16), np.zeros(n, np.float32)
    values = [w, x, out, n]
    compiled = weighted_rows.warmup(*values, m, n, is_masked, grid=(1,), arch="sm_90a", num_warps=1)
    ptx_machine.run(compiled, values)
    assert np.array_equal(out, (w - w.max()).astype(np.float64) @ x)
    assert compiled.n_spills <= 130


@triton.jit
def in_place(x_ptr, old_ptr, N: tl.constexpr):
    """Loads, stores and loads again: each has to see what the ones before it did."""
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    tl.store(x_ptr + offsets, x * 2 + 1)
    tl.debug_barrier()
    again = tl.load(x_ptr + (N - 1 - offsets))
    old = tl.atomic_add(x_ptr + offsets, again - x)
    tl.store(old_ptr + offsets, old + x)


def test_accesses_stay_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    n = 16384
    x = np.random.default_rng(1).integers(-1000, 1000, n).astype(np.int32)
    old, before = np.zeros(n, np.int32), x.copy()
    compiled = in_place.warmup(x, old, n, grid=(1,), arch="sm_90a", num_warps=2)
    ptx_machine.run(compiled, [x, old])
    stored = before * 2 + 1
    assert np.array_equal(old, stored + before)
    assert np.array_equal(x, stored + stored[::-1] - before)


@triton.jit
def weighted(
    q_ptr, k_ptr, v_ptr, out_ptr, keys, k_stride, v_stride,
    B: tl.constexpr, N: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """Rows of V, weighted by the products of those of K, which all have to be there before."""
    b, n, d = tl.arange(0, B)[:, None, None], tl.arange(0, N)[None, :, None], tl.arange(0, D)
    d = d[None, None, :]
    q = tl.load(q_ptr + b * D + d)
    total = tl.zeros((B, D), tl.float32)
    for first in range(0, keys, N):
        key = (first + n).to(tl.int64)
        mask = key < keys
        k = tl.load(k_ptr + b * (D * 1024) + key * k_stride + d, mask=mask, other=0.0)
        products = tl.sum(q * k, 2)
        weights = products - tl.max(products, 1)[:, None]
        v = tl.load(v_ptr + b * (D * 1024) + key * v_stride + d, mask=mask, other=0.0)
        total += tl.sum(weights[:, :, None] * v, 1)
    tl.store(out_ptr + tl.arange(0, B)[:, None] * D + tl.arange(0, D)[None, :], total)


def test_what_is_loaded_is_used_up_before_more_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """512 words of K and as many of V a thread, with 64 weights between them. With V loaded before
    the weights are made, and the indices of keys kept from K to V, it spilled 1500 words."""
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    b, n, d, keys = 8, 64, 128, 100
    rng = np.random.default_rng(2)
    q = rng.integers(-3, 4, (b, d)).astype(np.float32)
    k, v = rng.integers(-3, 4, (2, b, 1024, d)).astype(np.float32)
    out = np.zeros((b, d), np.float32)
    values = [q, k, v, out, keys, d, d]
    compiled = weighted.warmup(*values, b, n, d, grid=(1,), arch="sm_90a", num_warps=4)
    ptx_machine.run(compiled, values)
    want = np.zeros((b, d))
    for first in range(0, keys, n):
        rows = np.arange(first, first + n)
        there = (rows < keys)[None, :, None]
        products = (q[:, None] * np.where(there, k[:, rows], 0)).sum(2)
        weights = products - products.max(1, keepdims=True)
        want += (weights[:, :, None] * np.where(there, v[:, rows], 0)).sum(1)
    assert np.array_equal(out, want)
    assert compiled.n_spills <= 130


@triton.jit
def states(x_ptr, steps, decay, N: tl.constexpr):
    """Replaces each block by the state before it."""
    state = tl.zeros((N,), tl.float32)
    for i in range(steps):
        offsets = i * N + tl.arange(0, N)
        x = tl.load(x_ptr + offsets)
        tl.store(x_ptr + offsets, state)
        state = decay * state + x


@pytest.mark.parametrize("steps", [0, 2, 3])
def test_a_state_is_in_registers_until_it_is_stored(
    monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    """128 words of a state a thread, and as many that are added to it. Added as soon as each is
    loaded, with the old state not yet stored, it took 96 moves, and loads waited for others."""
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    n = 128 * 32  # one warp
    x = np.random.default_rng(3).integers(-9, 10, max(steps, 1) * n).astype(np.float32)
    want, state = x.copy(), np.zeros(n, np.float32)
    for i in range(steps):
        block = slice(i * n, (i + 1) * n)
        want[block], state = state, 0.5 * state + x[block]
    compiled = states.warmup(x, steps, 0.5, n, grid=(1,), arch="sm_90a", num_warps=1)
    ptx_machine.run(compiled, [x, steps, np.float32(0.5)])
    assert np.array_equal(x, want)
    words = [line.split()[0] for line in compiled.asm["ptx"].splitlines() if line.strip()]
    loads = [i for i, word in enumerate(words) if word.startswith("ld.global.v4")]
    assert len(loads) == 32
    assert not any(word.startswith("fma") for word in words[loads[0] : loads[-1]])


@triton.jit
def product_with_dropout(
    a_ptr, b_ptr, bias_ptr, c_ptr, k, seed, share,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """By wgmma, in a loop; behind it much is computed of each sum."""
    i, j, d = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((M, N), tl.float32)
    for first in range(0, k, K):
        a = tl.load(a_ptr + i[:, None] * k + first + d[None, :])
        b = tl.load(b_ptr + (first + d[:, None]) * N + j[None, :])
        total = tl.dot(a, b, total)
    total = 0.0625 * total + tl.load(bias_ptr + j)[None, :]
    cube = total + 0.0625 * total * total * total
    smooth = total / (1 + tl.exp(-cube))
    offsets = i[:, None] * N + j[None, :]
    keep = tl.rand(seed, offsets) > share
    tl.store(c_ptr + offsets, tl.where(keep, smooth / (1 - share), 0.0))


def test_what_is_computed_of_sums_of_wgmma_spills_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """64 sums a thread, and ten rounds of random bits for each. While a dot by wgmma anywhere in
    the kernel kept the order of all its code, that took 30 words of local memory."""
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    m, n, k, depth = 128, 128, 128, 64
    rng = np.random.default_rng(3)
    a = rng.integers(-2, 3, (m, k)).astype(np.float16)
    b = rng.integers(-2, 3, (k, n)).astype(np.float16)
    bias = rng.standard_normal(n).astype(np.float32)
    out, want = np.zeros((2, m, n), np.float32)
    values = [a, b, bias, out, k, 7, 0.25]
    compiled = product_with_dropout.warmup(
        *values, m, n, depth, grid=(1,), arch="sm_90a", num_warps=8
    )
    assert "wgmma" in compiled.asm["ptx"]
    ptx_matrix_machine.run(compiled, [*values[:-1], np.float32(0.25)])
    product_with_dropout[(1,)](a, b, bias, want, k, 7, 0.25, m, n, depth)
    assert 0.7 < np.count_nonzero(want) / want.size < 0.8
    np.testing.assert_allclose(out, want, rtol=1e-5, atol=1e-5)
    assert compiled.n_spills <= 8
