"""Operands of a loop's dots for which shared memory has no ring: what every iteration loads alike,
and blocks of which only one or two fit. Run by ptx_matrix_machine.py, which takes a missing barrier
for an error."""

from __future__ import annotations

from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import numpy as np
import pytest
from machine_backend import run

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)


def before_and_in_loop(compiled: Any, op: str) -> tuple[int, int]:
    before, _, behind = compiled.asm["tlg"].partition("scf.for")
    return before.count(op), behind.partition("scf.yield")[0].count(op)


@triton.jit(do_not_specialize=["rows", "n"])
def queries_in_loop(q_ptr, k_ptr, scale_ptr, out_ptr, rows, n, D: tl.constexpr, K: tl.constexpr):
    """Sums of scores of queries that each iteration loads, with a scale for each key of a block."""
    i = tl.arange(0, D)
    sums = tl.zeros((D, D), tl.float32)
    for begin in range(0, n, D):
        j = begin + i
        d = tl.arange(0, K)
        q = tl.load(q_ptr + i[:, None] * K + d, mask=i[:, None] < rows, other=0.0)
        k = tl.load(k_ptr + j[:, None] * K + d, mask=j[:, None] < n, other=0.0)
        sums += tl.dot(q, k.T) * tl.load(scale_ptr + i)
    tl.store(out_ptr + i[:, None] * D + i, sums)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize(("n", "rows"), [(0, 64), (64, 64), (100, 50), (192, 64)])
def test_what_iterations_load_alike_is_loaded_before_them(arch: str, n: int, rows: int) -> None:
    random = np.random.default_rng(n)
    q, k = (random.integers(-3, 4, (size, 64)).astype(np.float16) for size in (64, max(n, 1)))
    scale = random.integers(1, 4, 64).astype(np.float32)
    out = np.full((64, 64), -1, np.float32)
    compiled = run(
        queries_in_loop, [q, k, scale, out, rows, n], {"D": 64, "K": 64}, arch=arch, num_warps=4,
        num_stages=2,
    )  # fmt: skip
    want = np.zeros((64, 64), np.float32)
    padded = np.zeros((-(-n // 64) * 64, 64), np.float32)
    padded[:n] = k[:n]
    q = np.where(np.arange(64)[:, None] < rows, q, 0).astype(np.float32)
    for begin in range(0, n, 64):
        want += q @ padded[begin : begin + 64].T * scale
    np.testing.assert_array_equal(out, want)
    assert before_and_in_loop(compiled, "tl.load") == (2, 0)


@triton.jit(do_not_specialize=["n"])
def stores_between(q_ptr, k_ptr, out_ptr, n, D: tl.constexpr):
    """Queries that the iteration before has stored."""
    i, d = tl.arange(0, D)[:, None], tl.arange(0, D)[None, :]
    for begin in range(n):
        q = tl.load(q_ptr + i * D + d)
        k = tl.load(k_ptr + begin * D * D + i * D + d)
        scores = tl.dot(q, k)
        tl.debug_barrier()
        tl.store(q_ptr + i * D + d, scores.to(tl.float16))
        tl.debug_barrier()
    tl.store(out_ptr + i * D + d, tl.load(q_ptr + i * D + d))


def test_what_iterations_store_is_loaded_in_them() -> None:
    random = np.random.default_rng(0)
    q = random.integers(-1, 2, (16, 16)).astype(np.float16)
    k = random.integers(-1, 2, (3, 16, 16)).astype(np.float16)
    want = (q.astype(np.float32) @ k[0] @ k[1] @ k[2]).astype(np.float16)
    out = np.zeros((16, 16), np.float16)
    compiled = run(stores_between, [q, k, out, 3], {"D": 16}, arch="sm_90a", num_warps=1)
    np.testing.assert_array_equal(out, want)
    assert before_and_in_loop(compiled, "tl.load")[0] == 0


@triton.jit(do_not_specialize=["n"])
def latent(q_ptr, table_ptr, cache_ptr, out_ptr, n, B: tl.constexpr, D: tl.constexpr):
    """Keys that are values, too, in blocks that fill more than half of shared memory."""
    h, d = tl.arange(0, 16), tl.arange(0, D)
    q = tl.load(q_ptr + h[:, None] * D + d)
    out = tl.zeros((16, D), tl.float32)
    for begin in range(0, n, B):
        j = begin + tl.arange(0, B)
        page = tl.load(table_ptr + j, mask=j < n, other=0)
        kv = tl.load(cache_ptr + page[:, None] * D + d, mask=(j < n)[:, None], other=0.0)
        scores = tl.dot(q, kv.T)
        out += tl.dot(scores.to(tl.float16), kv)
    tl.store(out_ptr + h[:, None] * D + d, out)


@pytest.mark.parametrize("n", [0, 128, 200])
def test_blocks_without_room_for_a_ring_are_copied(n: int) -> None:
    random = np.random.default_rng(n)
    q = random.integers(-1, 2, (16, 512)).astype(np.float16)
    cache = random.integers(0, 2, (256, 512)).astype(np.float16) * (random.random((256, 512)) < 0.1)
    cache = cache.astype(np.float16)
    table = random.permutation(256)[: max(n, 1)].astype(np.int32)
    out = np.full((16, 512), -1, np.float32)
    compiled = run(
        latent, [q, table, cache, out, n], {"B": 128, "D": 512}, arch="sm_90a", num_warps=4,
        num_stages=2,
    )  # fmt: skip
    rows = cache[table[:n]].astype(np.float32)
    np.testing.assert_array_equal(out, (q.astype(np.float32) @ rows.T) @ rows)
    assert before_and_in_loop(compiled, "tlg.async_copy") == (0, 1)
    assert compiled.n_spills <= 16  # 512 in registers


@triton.jit(do_not_specialize=["n"])
def two_weights(a_ptr, b_ptr, x_ptr, out_ptr, n, M: tl.constexpr, K: tl.constexpr):
    """Two blocks that fill shared memory one after the other, but not both at a time."""
    i, k, j = tl.arange(0, M), tl.arange(0, K), tl.arange(0, 16)
    one = tl.zeros((M, 16), tl.float32)
    two = tl.zeros((M, 16), tl.float32)
    for step in range(n):
        x = tl.load(x_ptr + step * K * 16 + k[:, None] * 16 + j)
        one += tl.dot(tl.load(a_ptr + i[:, None] * K + k), x)
        two += tl.dot(tl.load(b_ptr + i[:, None] * K + k), x)
    tl.store(out_ptr + i[:, None] * 16 + j, one)
    tl.store(out_ptr + M * 16 + i[:, None] * 16 + j, two)


def test_blocks_that_have_no_room_before_a_loop_are_loaded_in_it() -> None:
    random = np.random.default_rng(0)
    a, b = (random.integers(-1, 2, (128, 512)).astype(np.float16) for _ in range(2))
    x = random.integers(-1, 2, (2, 512, 16)).astype(np.float16)
    out = np.zeros((2, 128, 16), np.float32)
    compiled = run(two_weights, [a, b, x, out, 2], {"M": 128, "K": 512}, num_warps=4)
    total = x.astype(np.float32).sum(0)
    np.testing.assert_array_equal(out, [a.astype(np.float32) @ total, b.astype(np.float32) @ total])
    assert compiled.metadata.shared <= 232448
