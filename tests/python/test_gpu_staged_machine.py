"""Operands of several dots of an iteration that threads write to shared memory, and blocks that are
split into operands: run by ptx_matrix_machine.py, which takes a missing barrier for an error.
"""

from __future__ import annotations

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import numpy as np
import pytest
from machine_backend import run

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)


@triton.jit(do_not_specialize=["rows", "steps"])
def complex_product(x_ptr, y_ptr, out_ptr, rows, steps, D: tl.constexpr, K: tl.constexpr):
    """Numbers in pairs, by three dots of an iteration, whose second operands threads write."""
    i, j = tl.arange(0, D)[:, None], tl.arange(0, 2 * K)[None, :]
    one = tl.zeros((D, D), tl.float32)
    two = tl.zeros((D, D), tl.float32)
    three = tl.zeros((D, D), tl.float32)
    for step in range(steps):
        place = i * (2 * K) + step * (2 * K * D) + j
        x = tl.load(x_ptr + place, mask=i < rows, other=0.0)
        y = tl.load(y_ptr + place, mask=i < rows, other=0.0)
        xr, xi = tl.split(tl.reshape(x, (D, K, 2)))
        yr, yi = tl.split(tl.reshape(y, (D, K, 2)))
        yi = -yi
        one = tl.dot(xr, yr.T, one)
        two = tl.dot(xi, yi.T, two)
        three = tl.dot(xr + xi, (yr + yi).T, three)
    both = tl.reshape(tl.join(one - two, three - one - two), (D, 2 * D))
    tl.store(out_ptr + i * (2 * D) + tl.arange(0, 2 * D)[None, :], both)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize(
    ("steps", "rows", "stages"), [(0, 64, 2), (1, 64, 3), (3, 50, 2), (4, 64, 1)]
)
def test_complex_products_are_right(arch: str, steps: int, rows: int, stages: int) -> None:
    random = np.random.default_rng(steps)
    x, y = (random.integers(-3, 4, (max(steps, 1), 64, 32, 2)).astype(np.float16) for _ in range(2))
    out = np.full((64, 64, 2), -1, np.float32)
    compiled = run(
        complex_product, [x, y, out, rows, steps], {"D": 64, "K": 32}, arch=arch, num_warps=4,
        num_stages=stages,
    )  # fmt: skip
    first, second = (
        (v[:steps, ..., 0] + 1j * v[:steps, ..., 1]) * (np.arange(64) < rows)[:, None]
        for v in (x.astype(np.float64), y.astype(np.float64))
    )
    want = np.einsum("sik,sjk->ij", first, second.conj())
    np.testing.assert_array_equal(out[..., 0], want.real)
    np.testing.assert_array_equal(out[..., 1], want.imag)
    if arch == "sm_90a" and stages > 1:
        loop = compiled.asm["tlg"].split("scf.for")[1].split("scf.yield")[0]
        # One behind the copies of the iteration, and one for what each of three dots reads.
        assert loop.count("tl.barrier") - loop.count("tlg.covered") == 4
        assert "convert_layout" not in loop


@triton.jit(do_not_specialize=["steps"])
def two_states(q_ptr, k_ptr, v_ptr, out_ptr, steps, D: tl.constexpr):
    """Chained dots: their results are operands of others in the same iteration."""
    i, j = tl.arange(0, D)[:, None], tl.arange(0, D)[None, :]
    state = tl.zeros((D, D), tl.float32)
    total = tl.zeros((D, D), tl.float32)
    for step in range(steps):
        place = step * D * D + i * D + j
        q = tl.load(q_ptr + place)
        k = tl.load(k_ptr + place)
        v = tl.load(v_ptr + place)
        scores = tl.dot(q, k.T)
        scores = tl.where(i >= j, scores, 0.0).to(tl.float16)
        total += tl.dot(q, state.to(tl.float16)) + tl.dot(scores, v)
        half = (v.to(tl.float32) * 0.5).to(tl.float16)
        state = state * 0.5 + tl.dot(k.T, half)
    tl.store(out_ptr + i * D + j, total)


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_states_and_scores_of_an_iteration_are_right(steps: int) -> None:
    random = np.random.default_rng(steps)
    q, k, v = (random.integers(-1, 2, (max(steps, 1), 64, 64)).astype(np.float16) for _ in range(3))
    out = np.full((64, 64), -1, np.float32)
    run(two_states, [q, k, v, out, steps], {"D": 64}, arch="sm_90a", num_warps=4, num_stages=2)
    state, total = np.zeros((64, 64)), np.zeros((64, 64))
    for each in range(steps):
        a, b, c = (x[each].astype(np.float64) for x in (q, k, v))
        total += a @ state.astype(np.float16) + np.tril(a @ b.T) @ c
        state = state * 0.5 + b.T @ (c * 0.5)
    np.testing.assert_allclose(out, total, rtol=1e-3, atol=1e-2)


@triton.jit(do_not_specialize=["n"])
def pairs_in_stages(x_ptr, y_ptr, out_ptr, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """A loop that asks for stages itself, over columns that all rows use."""
    i = tl.arange(0, ROWS)
    mine = tl.load(x_ptr + i)
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in tl.range(0, n, COLUMNS, num_stages=3):
        j = start + tl.arange(0, COLUMNS)
        other = tl.load(y_ptr + j, mask=j < n, other=0.0)
        weight = tl.load(y_ptr + n + j, mask=j < n, other=0.0)
        total += tl.abs(other[None, :] - mine[:, None]) * weight[None, :]
    tl.store(out_ptr + i, tl.sum(total, 1))


@pytest.mark.parametrize("n", [0, 1, 32, 77, 130])
def test_columns_that_all_rows_use_are_copied_once(n: int) -> None:
    random = np.random.default_rng(n)
    x = random.integers(-9, 10, 64).astype(np.float32)
    y = random.integers(-9, 10, 2 * max(n, 1)).astype(np.float32)
    out = np.full(64, -1, np.float32)
    compiled = run(
        pairs_in_stages, [x, y, out, n], {"ROWS": 64, "COLUMNS": 32}, arch="sm_90a", num_warps=4
    )
    other, weight = y[:n], y[n : 2 * n]
    np.testing.assert_array_equal(out, (np.abs(other - x[:, None]) * weight).sum(1))
    # Of each of two loads: two iterations before the loop, and one in it.
    assert compiled.asm["ptx"].count("cp.async.ca.shared.global") == 6
