"""tl.gather from what each warp holds, by shuffles, and from shared memory where another warp holds
what is asked for. PTX run by ptx_machine.py."""

from __future__ import annotations

import re
from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import numpy as np
import pytest
from test_gpu_machine import launcher

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")


@triton.jit
def of_row(out_ptr, x_ptr, i_ptr, N: tl.constexpr, M: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    places = tl.arange(0, M)
    tl.store(out_ptr + places, tl.gather(x, tl.load(i_ptr + places), 0))


@triton.jit
def of_rows(out_ptr, x_ptr, i_ptr, R: tl.constexpr, N: tl.constexpr, M: tl.constexpr):
    rows = tl.arange(0, R)[:, None]
    x = tl.load(x_ptr + rows * N + tl.arange(0, N)[None, :])
    places = rows * M + tl.arange(0, M)[None, :]
    tl.store(out_ptr + places, tl.gather(x, tl.load(i_ptr + places), 1))


@triton.jit
def searched(out_ptr, x_ptr, i_ptr, STEPS: tl.constexpr, N: tl.constexpr, M: tl.constexpr):
    ends = tl.cumsum(tl.load(x_ptr + tl.arange(0, N)))
    places = tl.arange(0, M)
    value = tl.load(i_ptr + places)
    left = tl.zeros([M], tl.int32)
    right = tl.full([M], N, tl.int32)
    for _ in range(STEPS):
        middle = (left + right) // 2
        above = tl.gather(ends, tl.minimum(middle, N - 1), 0) > value
        left = tl.where(above | (left >= right), left, middle + 1)
        right = tl.where(above, middle, right)
    tl.store(out_ptr + places, left)


def indices(shape: tuple[int, ...], size: int, dtype: str) -> np.ndarray:
    """Inside, and some outside on both sides."""
    made = np.random.default_rng(size).integers(-2, size + 2, shape)
    return np.minimum(made, np.iinfo(dtype).max).astype(dtype)


def picked(x: np.ndarray, at: np.ndarray) -> np.ndarray:
    inside = (at >= 0) & (at < x.shape[-1])
    taken = np.take_along_axis(x, np.where(inside, at, 0).astype(np.int64), -1)
    return np.where(inside, taken, 0).astype(x.dtype)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize(
    "size, dtype, index",
    [(1, "int32", "int32"), (2, "float16", "int64"), (4, "int64", "int32"), (16, "int8", "int8"),
     (32, "float32", "int64"), (64, "int32", "int32"), (64, "float64", "int8"),
     (128, "int16", "int32")],
)  # fmt: skip
def test_of_a_row(size: int, dtype: str, index: str, warps: int, arch: str) -> None:
    x = (np.arange(size) - 3).astype(dtype)
    for count in (1, 8, 128, 512):
        at = indices((count,), size, index)
        out = np.full(count, 7, dtype)
        launcher(arch)(of_row, [out, x, at], warps, {"N": size, "M": count})
        np.testing.assert_array_equal(out, picked(x, at), err_msg=str(count))


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize(
    "rows, size, count", [(8, 4, 4), (32, 8, 8), (16, 2, 32), (4, 64, 16), (2, 4, 256)]
)
def test_of_rows(rows: int, size: int, count: int, warps: int) -> None:
    x = np.arange(rows * size, dtype=np.int32).reshape(rows, size) - 5
    at = indices((rows, count), size, "int32")
    out = np.full((rows, count), 7, np.int32)
    launcher("sm_90a")(of_rows, [out, x, at], warps, {"R": rows, "N": size, "M": count})
    np.testing.assert_array_equal(out, picked(x, at))


@pytest.mark.parametrize("warps", [1, 4])
def test_a_search(warps: int) -> None:
    sizes = np.array([3, 0, 5, 2], np.int64)
    values = np.arange(12).repeat(2).astype(np.int32)
    values = np.resize(values, 32)
    out = np.full(32, 7, np.int32)
    launcher("sm_90a")(searched, [out, sizes, values], warps, {"STEPS": 3, "N": 4, "M": 32})
    np.testing.assert_array_equal(out, np.searchsorted(np.cumsum(sizes), values, side="right"))


def ptx_of(kernel: Any, *arguments: Any, warps: int, **constants: Any) -> str:
    made = kernel.warmup(*arguments, grid=(1,), arch="sm_90a", num_warps=warps, **constants)
    return str(made.asm["ptx"])


def test_a_warp_asks_its_lanes() -> None:
    x, at, out = (np.zeros(256, np.int32) for _ in range(3))
    for size, warps in ((4, 4), (32, 4), (64, 1)):
        ptx = ptx_of(of_row, out, x, at, warps=warps, N=size, M=128)
        assert "shfl.sync.idx" in ptx, (size, warps)
        assert "bar.sync" not in ptx and "shared" not in ptx, (size, warps)
    assert "bar.sync" in ptx_of(of_row, out, x, at, warps=4, N=64, M=128)  # of other warps


@triton.jit
def sums_of_rows(out_ptr, x_ptr, w_ptr, i_ptr, stride, n, R: tl.constexpr, U: tl.constexpr):
    rows, units = tl.arange(0, R), tl.arange(0, U)
    sums = tl.zeros([R, U, U], tl.float32)
    for p in range(n):
        place = tl.load(i_ptr + p * R + rows)
        w = tl.load(w_ptr + units[None, :] * stride + place[:, None])
        at = units[None, :, None] * 2 * stride + units[None, None, :] * stride + p
        x = tl.load(x_ptr + at + rows[:, None, None])
        sums += x * w[:, :, None]
    at = (rows[:, None, None] * U + units[None, :, None]) * U + units[None, None, :]
    tl.store(out_ptr + at, sums)


def test_factors_of_more_rows_than_a_thread_loads() -> None:
    """Eight factors of a thread, each by an index of its own, come through shared memory."""
    rng = np.random.default_rng(3)
    rows, units, n, stride = 16, 8, 3, 40
    x, w = (rng.integers(-9, 9, 24 * stride).astype(np.float32) for _ in range(2))
    places = rng.integers(0, stride, (n, rows)).astype(np.int32)
    out = np.zeros((rows, units, units), np.float32)
    constants = {"R": rows, "U": units}
    launcher("sm_90a")(sums_of_rows, [out, x, w, places, stride, n], 4, constants)
    r, u, v = np.ix_(range(rows), range(units), range(units))
    want = sum(x[(2 * u + v) * stride + p + r] * w[u * stride + places[p][r]] for p in range(n))
    np.testing.assert_array_equal(out, want)
    ptx = ptx_of(sums_of_rows, out, x, w, places, stride, n, warps=4, **constants)
    assert "shared" in ptx
    assert ptx.count("ld.global") == 8 + 2  # of x; of w and its index


@triton.jit
def matrix_by_vector(
    y_ptr, a_ptr, x_ptr, n, m, row, step, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    rows = tl.arange(0, ROWS)[:, None]
    columns = tl.arange(0, COLUMNS)[None, :]
    a_ptr += rows * row + columns
    x_ptr += columns * step
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, m, COLUMNS):
        inside = start + columns < m
        a = tl.load(a_ptr, mask=(rows < n) & inside, other=0)
        total += a.to(tl.float32) * tl.load(x_ptr, mask=inside, other=0).to(tl.float32)
        a_ptr += COLUMNS
        x_ptr += COLUMNS * step
    tl.store(y_ptr + rows, tl.sum(total, axis=1)[:, None], mask=rows < n)


@pytest.mark.parametrize("m", [3, 1024, 1500])
def test_a_vector_with_any_step_is_loaded_once(m: int) -> None:
    """Not by each warp in the layout of the matrix, with which it is multiplied: 32 elements a
    thread, one by one."""
    rng = np.random.default_rng(m)
    a = rng.integers(-3, 4, (8, m + 6)).astype(np.float16)
    x = rng.integers(-3, 4, 3 * m).astype(np.float16)
    y = np.zeros(8, np.float32)
    sizes = {"ROWS": 8, "COLUMNS": 1024}
    launcher("sm_90a")(matrix_by_vector, [y, a, x, 8, m, m + 6, 3], 8, sizes)
    np.testing.assert_array_equal(y, a[:, :m].astype(np.float64) @ x[::3].astype(np.float64))
    ptx = ptx_of(matrix_by_vector, y, a, x, 8, 1024, 4096, 3, warps=8, **sizes)
    assert len(re.findall(r"ld\.global\.b16", ptx)) == 4


@triton.jit
def turned_around(out_ptr, x_ptr, ROWS: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at)
    other = tl.flip(tl.reshape(x, (ROWS, 2, N // 2)), 1)
    tl.store(out_ptr + at, x - 2 * tl.reshape(other, (ROWS, N)))


@pytest.mark.parametrize(("rows", "n", "warps"), [(4, 64, 1), (16, 128, 4), (8, 32, 8)])
def test_lanes_that_swap_name_the_constant(rows: int, n: int, warps: int) -> None:
    """As halves of rows do that are turned, which functions of rotations do."""
    x = np.random.default_rng(n).integers(-99, 99, (rows, n)).astype(np.float32)
    out = np.zeros_like(x)
    constants = {"ROWS": rows, "N": n}
    launcher("sm_90a")(turned_around, [out, x], warps, constants)
    np.testing.assert_array_equal(out, x - 2 * np.roll(x, n // 2, 1))
    ptx = ptx_of(turned_around, out, x, warps=warps, **constants)
    assert "shfl.sync.bfly" in ptx and "shfl.sync.idx" not in ptx


@triton.jit
def by_numbers(
    out_ptr, q_ptr, table_ptr, i_ptr, n, PARTS: tl.constexpr, Q: tl.constexpr, T: tl.constexpr
):
    q, t = tl.arange(0, Q), tl.arange(0, T)
    total = tl.zeros((Q, T), tl.float32)
    for part in range(PARTS):
        places = tl.load(i_ptr + t * PARTS + part)
        for d in range(4):
            x = tl.load(q_ptr + q * (4 * PARTS) + 4 * part + d)
            y = tl.load(table_ptr + (part * n + places) * 4 + d)
            total += x[:, None] * y[None, :]
    tl.store(out_ptr + q[:, None] * T + t[None, :], total)


def test_scattered_elements_of_a_tile_are_loaded_by_a_lane_each() -> None:
    """For vectors of the store each thread would load four, and groups of lanes the same."""
    rng = np.random.default_rng(6)
    parts, n, q, t = 3, 50, 16, 32
    x = rng.integers(-3, 4, (q, parts, 4)).astype(np.float32)
    table = rng.integers(-3, 4, (parts, n, 4)).astype(np.float32)
    i = rng.integers(0, n, (t, parts)).astype(np.int32)
    out = np.zeros((q, t), np.float32)
    constants = {"PARTS": parts, "Q": q, "T": t}
    launcher("sm_90a")(by_numbers, [out, x, table, i, n], 4, constants)
    np.testing.assert_array_equal(out, np.einsum("qpd,tpd->qt", x, table[np.arange(parts), i]))
    ptx = ptx_of(by_numbers, out, x, table, i, 64, warps=4, **constants)
    # Of each part one of the places, one of the table and four of q, all four numbers at once.
    assert len(re.findall(r"ld\.global", ptx)) == 6 * parts
    assert "st.global.v4" not in ptx
