"""Reductions whose lanes combine what they have with what others have, in the other order: all
threads have one result; and those of places, whose order threads know. Run by ptx_machine.py.
"""

from __future__ import annotations

import re
from typing import Any

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
def larger(a: Any, b: Any) -> Any:
    return tl.where(a > b, a, b)


@triton.jit
def reduce_kernel(x_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    result = tl.reduce(tl.load(x_ptr + offsets), 0, larger)
    tl.store(out_ptr + offsets, tl.where(offsets < N, result, 0.0))


@pytest.mark.parametrize("warps", [1, 4, 32])
@pytest.mark.parametrize("value", [0.0, np.nan])
def test_all_threads_have_one_result(
    value: float, warps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Zeros of both signs are equal; with NaN a comparison is in no order."""
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    x = np.full(1024, -0.0, np.float32)
    x[::3] = value
    out = np.full_like(x, 7)
    kernel = reduce_kernel.warmup(x, out, 1024, grid=(1,), arch="sm_90a", num_warps=warps)
    ptx_machine.run(kernel, [x, out])
    assert len(np.unique(out.view(np.uint32))) == 1
    assert out[0] == 0 or np.isnan(out[0])


@triton.jit
def first_largest(x: Any, i: Any, y: Any, j: Any) -> Any:
    """The first one; what is no number is neither larger nor equal."""
    takes_first = (x > y) | ((x == y) & (i < j))
    return tl.where(takes_first, x, y), tl.where(takes_first, i, j)


@triton.jit
def last_largest(x: Any, i: Any, y: Any, j: Any) -> Any:
    takes_first = (x > y) | ((x == y) & (i > j))
    return tl.where(takes_first, x, y), tl.where(takes_first, i, j)


@triton.jit
def places_kernel(x_ptr, place_ptr, out_ptr, WAY: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    row, column = tl.arange(0, M), tl.arange(0, N)
    x = tl.load(x_ptr + row[:, None] * N + column[None, :])
    place = column if place_ptr is None else tl.load(place_ptr + column)
    place = tl.broadcast_to(place[None, :], x.shape)
    if WAY == "argmax":
        found = tl.argmax(x, 1)
    elif WAY == "argmin":
        found = tl.argmin(x, 1)
    elif WAY == "first":
        _, found = tl.reduce((x, place), 1, first_largest)
    else:
        _, found = tl.reduce((x, place), 1, last_largest)
    tl.store(out_ptr + row, found)


def places(way: str, x: Any, loaded: Any = None) -> tuple[Any, int]:
    """Of each row, and how many comparisons of places the kernel has."""
    out = np.empty(len(x), np.int32)
    kernel = places_kernel.warmup(
        x, loaded, out, way, *x.shape, grid=(1,), arch="sm_90a", num_warps=4
    )
    ptx_machine.run(kernel, [x, out] if loaded is None else [x, loaded, out])
    return out, len(re.findall(r"setp\.(?:lt|gt|le|ge)\.[su]32", kernel.asm["ptx"]))


@pytest.mark.parametrize("n", [16, 128, 1024])
@pytest.mark.parametrize("way", ["argmax", "argmin", "first", "last"])
def test_places_are_not_compared_within_a_thread(
    way: str, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread's elements follow each other along the axis: of equal ones the first, or last, is
    known. Lanes take the lowest, or highest, place of those that have the best value; only warps
    compare places."""
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    rng = np.random.default_rng(n)
    x = rng.integers(-3, 3, (32, n)).astype(np.float32)  # many are equal
    if way.startswith("arg"):
        x[::2, ::5] = np.nan
    found, compared = places(way, x)
    want = {
        "argmax": lambda: np.nanargmax(x, 1),
        "argmin": lambda: np.nanargmin(x, 1),
        "first": lambda: np.argmax(x, 1),
        "last": lambda: n - 1 - np.argmax(x[:, ::-1], 1),
    }[way]()
    assert np.array_equal(found, want)
    if way == "first":  # places that are loaded may be in any order
        turned = np.arange(n, dtype=np.int32)[::-1].copy()
        found, _ = places(way, x, turned)
        assert np.array_equal(found, turned[n - 1 - np.argmax(x[:, ::-1], 1)])
    assert n == 1024 or compared == 0


@triton.jit
def joined(mean: Any, m2: Any, count: Any, mean_2: Any, m2_2: Any, count_2: Any) -> Any:
    """Welford's, which for counts below zero gives something else in each order."""
    total = count + count_2
    share = count_2 / tl.where(total > 0, total, 1.0)
    delta = mean_2 - mean
    return mean + delta * share, m2 + m2_2 + delta * delta * count * share, total


@triton.jit
def moments_kernel(x_ptr, y_ptr, out_ptr, n, FROM: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask).to(tl.float32)
    x += tl.load(y_ptr + offsets, mask=mask, other=0.0)
    counts = tl.where(mask, 1.0, 0.0) - FROM
    mean, m2, total = tl.reduce((x, tl.zeros_like(x), counts), 0, joined)
    tl.store(out_ptr, mean)
    tl.store(out_ptr + 1, m2)
    tl.store(out_ptr + 2, total)


@pytest.mark.parametrize("warps", [1, 8])
@pytest.mark.parametrize("n", [2048, 1500, 3])
def test_order_is_free_for_the_elements_that_there_are(
    n: int, warps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts are ones, and zeros where nothing is loaded: no other ones can come up."""
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((2, 2048), np.float32)
    x = x.astype(np.float16)
    out = np.zeros(3, np.float32)
    kernel = moments_kernel.warmup(
        x, y, out, n, FROM=0, BLOCK=2048, grid=(1,), arch="sm_90a", num_warps=warps
    )
    assert "tlg.any_order" in kernel.asm["tlg"]
    ptx_machine.run(kernel, [x, y, out, n])
    z = (x + y)[:n].astype(np.float64)
    np.testing.assert_allclose(out, [z.mean(), z.var() * n, n], rtol=1e-4, atol=1e-5)


def test_order_is_kept_where_elements_may_be_others() -> None:
    x, out = np.zeros(2048, np.float32), np.zeros(3, np.float32)
    kernel = moments_kernel.warmup(
        x, x, out, 9, FROM=1, BLOCK=2048, grid=(1,), arch="sm_90a", num_warps=8
    )
    assert "tl.reduce" in kernel.asm["tlg"] and "tlg.any_order" not in kernel.asm["tlg"]


@triton.jit
def row_moments_kernel(
    x_ptr, out_ptr, n, FROM: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    """Welford's over rows, each thread first by itself."""
    rows = tl.arange(0, ROWS)[:, None]
    mean = tl.zeros((ROWS, BLOCK), tl.float32)
    m2 = tl.zeros((ROWS, BLOCK), tl.float32)
    counts = tl.full((ROWS, BLOCK), -FROM, tl.float32)
    for first in range(0, n, BLOCK):
        columns = first + tl.arange(0, BLOCK)[None, :]
        mask = columns < n
        x = tl.load(x_ptr + rows * n + columns, mask=mask, other=0.0)
        counts += mask
        delta = tl.where(mask, x - mean, 0.0)
        mean += delta / tl.maximum(counts, 1)
        m2 += delta * (x - mean)
    mean, m2, counts = tl.reduce((mean, m2, counts), 1, joined)
    row = tl.arange(0, ROWS)
    tl.store(out_ptr + row, mean)
    tl.store(out_ptr + ROWS + row, m2)


@pytest.mark.parametrize("n", [1100, 512, 70])
def test_loops_that_count_leave_the_order_free(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    x = np.random.default_rng(3).standard_normal((4, n), np.float32)
    out = np.zeros((2, 4), np.float32)
    kernel = row_moments_kernel.warmup(
        x, out, n, FROM=0, ROWS=4, BLOCK=512, grid=(1,), arch="sm_90a", num_warps=8
    )
    assert "tlg.any_order" in kernel.asm["tlg"]
    ptx_machine.run(kernel, [x, out, n])
    np.testing.assert_allclose(out, [x.mean(1), x.var(1) * n], rtol=1e-4, atol=1e-5)


@triton.jit
def joined_up_to_900(mean: Any, m2: Any, n: Any, mean_2: Any, m2_2: Any, n_2: Any) -> Any:
    mean_3, m2_3, total = joined(mean, m2, n, mean_2, m2_2, n_2)
    return tl.where(n > 900, mean, mean_3), m2_3, total


@triton.jit
def counted_kernel(x_ptr, out_ptr, n, COMBINE: tl.constexpr):
    counts = tl.zeros((512,), tl.float32)
    for first in range(0, n, 512):
        counts += first + tl.arange(0, 512) < n
    x = tl.load(x_ptr + tl.arange(0, 512)) * counts
    tl.store(out_ptr, tl.reduce((x, tl.zeros_like(x), counts), 0, COMBINE)[0])


def test_counts_of_many_iterations_are_not_looked_at() -> None:
    """A function that does something else from a count on, which a few iterations do not reach."""

    def is_in_any_order(combine: Any) -> bool:
        x, out = np.zeros(512, np.float32), np.zeros(1, np.float32)
        kernel = counted_kernel.warmup(x, out, 9000, combine, grid=(1,), arch="sm_90a", num_warps=8)
        return "tlg.any_order" in kernel.asm["tlg"]

    assert is_in_any_order(joined)
    assert not is_in_any_order(joined_up_to_900)


@triton.jit
def followed(a: Any, b: Any, a_2: Any, b_2: Any) -> Any:
    """`a x + b`, and then that of the other: the order matters."""
    return a * a_2, b * a_2 + b_2


@triton.jit
def follow_kernel(x_ptr, out_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row, column = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    at = row[:, None] * COLUMNS + column[None, :]
    a, b = tl.reduce((tl.load(x_ptr + at), tl.load(x_ptr + ROWS * COLUMNS + at)), 1, followed)
    tl.store(out_ptr + row, a)
    tl.store(out_ptr + ROWS + row, b)


@pytest.mark.parametrize(
    ("rows", "columns", "warps"), [(4, 512, 8), (8, 128, 4), (64, 256, 16), (2, 512, 8)]
)
def test_threads_share_tables_in_order(
    rows: int, columns: int, warps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tree is that of the CPU: halves of the axis, elements of the same place together."""
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    x = np.random.default_rng(3).standard_normal((2, rows, columns)).astype(np.float32)
    out = np.zeros((2, rows), np.float32)
    kernel = follow_kernel.warmup(x, out, rows, columns, grid=(1,), arch="sm_90a", num_warps=warps)
    assert "tlg.any_order" not in kernel.asm["tlg"]
    ptx_machine.run(kernel, [x, out])
    a, b = x
    while a.shape[1] > 1:
        half = a.shape[1] // 2
        b = b[:, :half] * a[:, half:] + b[:, half:]
        a = a[:, :half] * a[:, half:]
    np.testing.assert_allclose(out, [a[:, 0], b[:, 0]], rtol=1e-4, atol=1e-6)
    if (rows, columns, warps) == (4, 512, 8):  # each reads what is combined, not eight tables
        assert kernel.asm["ptx"].count("ld.shared") < 2 * 4 * 8


def test_lanes_share_tables_where_combining_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of eight warps: each lane combines with three others, not with seven tables."""
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    x, out = np.zeros(256, np.float32), np.zeros(3, np.float32)
    kernel = moments_kernel.warmup(
        x, x, out, 256, FROM=0, BLOCK=256, grid=(1,), arch="sm_90a", num_warps=8
    )
    assert kernel.asm["ptx"].count("div.full.f32") <= 2 * (5 + 3)


@triton.jit
def rows_kernel(x_ptr, out_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row, column = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    x = tl.load(x_ptr + row[:, None] * COLUMNS + column[None, :])
    tl.store(out_ptr + row, tl.sum(x, 1))


@pytest.mark.parametrize(
    ("rows", "warps", "reads"), [(1, 8, 2), (1, 16, 1), (2, 32, 2), (8, 16, 18)]
)
def test_tables_of_warps_are_shared(
    rows: int, warps: int, reads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight tables of one result are two vectors. Lanes share 16 of them, and 32 of two results. Of
    eight results a thread each combines all tables, which all read then, in two vectors."""
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    rng = np.random.default_rng(3)
    x, out = rng.standard_normal((rows, 4096), np.float32), np.zeros(rows, np.float32)
    kernel = rows_kernel.warmup(x, out, rows, 4096, grid=(1,), arch="sm_90a", num_warps=warps)
    assert kernel.asm["ptx"].count("ld.shared") == reads
    ptx_machine.run(kernel, [x, out])
    np.testing.assert_allclose(out, x.sum(1), rtol=1e-4, atol=1e-4)


@triton.jit
def columns_kernel(x_ptr, out_ptr, n, WAY: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Rows lie in lanes and warps, as sums of a dot do."""
    row, column = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    k = tl.arange(0, ROWS)
    one = tl.where(row[:, None] == k[None, :], 1.0, 0.0).to(tl.float16)
    x = tl.load(x_ptr + k[:, None] * COLUMNS + column[None, :])
    y = tl.where(row[:, None] < n, tl.dot(one, x), -float("inf") if WAY == "argmax" else 0.0)
    if WAY == "sum":
        tl.store(out_ptr + column, tl.sum(y, 0))
    else:
        tl.store(out_ptr + column, tl.argmax(y, 0))


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize(("rows", "columns"), [(64, 16), (64, 128), (128, 64), (16, 64)])
@pytest.mark.parametrize("way", ["sum", "argmax"])
def test_lanes_share_results(
    way: str, rows: int, columns: int, warps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two lanes each combines half of the columns: with eight of them, one and not three
    exchanges for each column of a thread."""
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    rng = np.random.default_rng(7)
    x = rng.integers(-8, 8, (rows, columns)).astype(np.float16)
    x[:, 3] = np.nan if way == "argmax" else 0
    out = np.zeros(columns, np.int32 if way == "argmax" else np.float32)
    n = rows - 7
    kernel = columns_kernel.warmup(
        x, out, n, way, rows, columns, grid=(1,), arch="sm_90a", num_warps=warps
    )
    ptx_matrix_machine.run(kernel, [x, out, n])
    if way == "sum":
        assert np.array_equal(out, x[:n].astype(np.float32).sum(0))
    else:
        places = np.delete(np.arange(columns), 3)
        assert np.array_equal(out[places], x[:n, places].argmax(0))
    if (rows, columns, warps) == (64, 128, 4):
        assert kernel.asm["ptx"].count("shfl.sync.bfly") == 28 * (1 if way == "sum" else 2)


@triton.jit
def block_kernel(x_ptr, out_ptr, FIRST: tl.constexpr, SECOND: tl.constexpr, M: tl.constexpr):
    """Of a block of M x M x M along one axis, then along one of those that are left."""
    i = tl.arange(0, M)
    x = tl.load(x_ptr + (i[:, None, None] * M + i[None, :, None]) * M + i[None, None, :])
    tl.store(out_ptr + i, tl.sum(tl.sum(x, FIRST), SECOND))


@pytest.mark.parametrize("second", [0, 1])
@pytest.mark.parametrize("first", [0, 1, 2])
def test_two_axes_are_reduced_at_once(
    first: int, second: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads exchange what they have left of both axes. Only the last axis lies in several of
    them: the others they reduce by themselves, as it comes."""
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    rng = np.random.default_rng(5)
    x, out = rng.integers(-9, 9, (16, 16, 16)), np.zeros(16, np.int64)
    kernel = block_kernel.warmup(x, out, first, second, 16, grid=(1,), arch="sm_90a", num_warps=4)
    assert kernel.asm["tlg"].count("tl.reduce") == (1 if first == 2 else 2)
    assert kernel.asm["ptx"].count("shfl") <= 8
    ptx_machine.run(kernel, [x, out])
    assert np.array_equal(out, x.sum(first).sum(second))


@triton.jit
def mixed_kernel(x_ptr, out_ptr, WAY: tl.constexpr, M: tl.constexpr):
    i = tl.arange(0, M)
    x = tl.load(x_ptr + i[:, None] * M + i[None, :])
    if WAY == "other function":
        result = tl.sum(tl.max(x, 1), 0)
    elif WAY == "used twice":
        rows = tl.sum(x, 1)
        result = tl.sum(rows, 0) * tl.max(rows, 0)
    else:
        result = tl.sum(tl.sum(x, 1) * i, 0)
    tl.store(out_ptr, result)


@pytest.mark.parametrize("way", ["other function", "used twice", "changed between"])
def test_axes_are_reduced_one_by_one_where_they_differ(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    rng = np.random.default_rng(6)
    x, out = rng.integers(-9, 9, (32, 32)).astype(np.int32), np.zeros(1, np.int32)
    kernel = mixed_kernel.warmup(x, out, way, 32, grid=(1,), arch="sm_90a", num_warps=4)
    assert kernel.asm["tlg"].count("tl.reduce") >= 2
    ptx_machine.run(kernel, [x, out])
    rows = x.sum(1)
    want = {
        "other function": x.max(1).sum(),
        "used twice": rows.sum() * rows.max(),
        "changed between": (rows * np.arange(32)).sum(),
    }[way]
    assert out[0] == want


@triton.jit
def counters_kernel(x_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    first, second, third = tl.sum(x, 0), tl.sum(x * x, 0), tl.max(x, 0)
    tl.atomic_add(out_ptr, first)
    tl.atomic_add(out_ptr + 1, second)
    tl.atomic_max(out_ptr + 2, third)


def test_what_one_thread_needs_is_made_where_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in the branch of that thread: what was read would have registers until then."""
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    x, out = np.arange(1024, dtype=np.float32) / 8, np.zeros(3, np.float32)
    kernel = counters_kernel.warmup(x, out, 1024, grid=(1,), arch="sm_90a", num_warps=8)
    behind_tables = kernel.asm["ptx"].rpartition("ld.shared")[2]
    before, _, behind = behind_tables.partition("bra")
    assert "max" in before and not re.search(r"(add|max)\S*f32", behind.replace("red.global", ""))
    ptx_machine.run(kernel, [x, out])
    np.testing.assert_allclose(out, [x.sum(), (x * x).sum(), x.max()], rtol=1e-5)


@triton.jit
def scaled_rows_kernel(x_ptr, w_ptr, y_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row, column = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    at = row[:, None] * COLUMNS + column[None, :]
    x = tl.load(x_ptr + at)
    gate = tl.load(y_ptr + at)
    y = x / tl.sum(x * x, 1)[:, None] * tl.load(w_ptr + column)[None, :] * gate
    tl.store(y_ptr + at, y)


@pytest.mark.parametrize(
    ("rows", "columns", "has_barriers"),
    [(64, 256, False), (8, 256, False), (2, 1024, True), (4, 4096, True)],
)
def test_warps_combine_rows_of_their_own(
    rows: int, columns: int, has_barriers: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there are as many as warps along a row; and all that is computed with them lies so."""
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    rng = np.random.default_rng(3)
    x, y = (rng.standard_normal((rows, columns), np.float32) for _ in range(2))
    w = rng.standard_normal(columns, np.float32)
    want = x / (x * x).sum(1, keepdims=True) * w * y
    kernel = scaled_rows_kernel.warmup(
        x, w, y, rows, columns, grid=(1,), arch="sm_90a", num_warps=8
    )
    ptx = kernel.asm["ptx"]
    assert ("bar.sync" in ptx) == has_barriers
    assert has_barriers or "shared" not in ptx
    ptx_machine.run(kernel, [x, w, y])
    np.testing.assert_allclose(y, want, rtol=1e-4, atol=1e-6)


@triton.jit
def branches_kernel(x_ptr, out_ptr, n, N: tl.constexpr):
    program = tl.program_id(0)
    if program >= n:
        return
    x = tl.load(x_ptr + program * N + tl.arange(0, N))
    total = tl.sum(x)
    if total > 0:
        result = tl.max(x)
        if result > 100:
            result += tl.sum(x & 7)
    else:
        result = tl.min(x) - tl.sum(x & 3)
    tl.store(out_ptr + program, result + tl.sum((x > result).to(tl.int32)))


@pytest.mark.parametrize("seed", range(3))
def test_tables_in_branches_wait_for_those_before_them_only(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What may still be read behind a branch is what is read in one of its blocks or before it."""
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    n, size = 3, 256
    x = np.random.default_rng(seed).integers(-90, 90, (4, size)).astype(np.int32)
    x[0, 7], x[1] = 1000, x[1] - 50
    out = np.full(4, -1, np.int32)
    kernel = branches_kernel.warmup(x, out, n, N=size, grid=(4,), arch="sm_90a", num_warps=4)
    ptx_machine.run(kernel, [x, out, n], (4,))
    for row, got in zip(x[:n], out[:n], strict=True):
        if row.sum() > 0:
            result = row.max()
            result += (row & 7).sum() if result > 100 else 0
        else:
            result = row.min() - (row & 3).sum()
        assert got == result + (row > result).sum()
    assert out[n] == -1
    # One for each sum, between writing and reading its table.
    assert len(re.findall(r"\bbar(?:rier)?\.sync", kernel.asm["ptx"])) == 6


@triton.jit
def far_rows_kernel(x_ptr, out_ptr, stride, M: tl.constexpr, N: tl.constexpr, WAY: tl.constexpr):
    row, column = tl.arange(0, M), tl.arange(0, N)
    x = tl.load(x_ptr + row[:, None] * stride + column[None, :])
    found = tl.sum(x, 1) if WAY == "sum" else tl.reduce(x, 1, larger)
    tl.store(out_ptr + row, found)


@pytest.mark.parametrize(
    ("way", "dtype", "columns", "shuffles"),
    # A thread has 32 rows, of which lanes combine parts in three steps or five; of four rows that
    # all warps share, half are left behind each of the first steps, as of rows that fill a shuffle
    # each, which lanes ask for then.
    [("sum", "float16", 8, 3 * 16), ("largest", "float16", 8, 3 * 16),
     ("largest", "int8", 8, 3 * 8), ("largest", "float32", 8, 16 + 8 + 4),
     ("largest", "int16", 32, 5 * 16), ("sum", "float16", 1024, 1 + 1 + 3)],
)  # fmt: skip
def test_small_results_are_shuffled_together(
    way: str, dtype: str, columns: int, shuffles: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two results of 16 bits, or four of 8, in each shuffle."""
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    rows, warps = 4096 // columns, 8 if columns > 32 else 4
    x = np.random.default_rng(3).integers(-9, 9, (rows, columns + 1)).astype(dtype)
    out = np.empty(rows, dtype)
    kernel = far_rows_kernel.warmup(
        x, out, columns + 1, rows, columns, way, grid=(1,), arch="sm_90a", num_warps=warps
    )
    ptx_machine.run(kernel, [x, out, columns + 1])
    np.testing.assert_array_equal(out, (np.sum if way == "sum" else np.max)(x[:, :columns], axis=1))
    exchange = kernel.asm["ptx"].partition("bar.sync")[0]  # behind it, lanes read tables
    assert exchange.count("shfl.sync.bfly") == shuffles


@triton.jit
def sum_kernel(x_ptr, out_ptr, N: tl.constexpr, IS_FUNCTION: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.store(out_ptr, tl.sum(tl.exp(x - 1) if IS_FUNCTION else x))


@pytest.mark.parametrize(("is_function", "steps"), [(True, 15), (False, 3 + 2)])
def test_functions_are_added_up_in_turn(
    is_function: bool, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread has 16 numbers: four sums of four, but one of results that take longer than sums."""
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    x, out = np.linspace(-1, 1, 512, dtype=np.float32), np.empty(1, np.float32)
    kernel = sum_kernel.warmup(x, out, 512, is_function, grid=(1,), arch="sm_90a", num_warps=1)
    depth: dict[str, int] = {}
    for result, a, b in re.findall(
        r"add(?:\.rn)?\.f32 \t(%\w+), (%\w+), (%\w+);", kernel.asm["ptx"].partition("shfl")[0]
    ):
        depth[result] = 1 + max(depth.get(a, 0), depth.get(b, 0))
    assert max(depth.values()) == steps
    ptx_machine.run(kernel, [x, out])
    np.testing.assert_allclose(
        out, np.sum(np.exp(x - 1) if is_function else x), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize(("dtype", "maxima"), [(np.float64, 0), (np.float32, 15)])
def test_doubles_of_a_thread_are_compared_in_pairs(
    dtype: Any, maxima: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 16 numbers of 4 bytes a thread looks for the largest one first, and then for its place. Of
    8 bytes no instruction gives the larger one."""
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    x = np.random.default_rng(2).permutation(512).astype(dtype)[None]
    out = np.empty(1, np.int32)
    kernel = places_kernel.warmup(
        x, None, out, "argmax", 1, 512, grid=(1,), arch="sm_90a", num_warps=1
    )
    ptx_machine.run(kernel, [x, out])
    assert out[0] == x[0].argmax()
    in_thread = kernel.asm["ptx"].partition("shfl")[0]
    assert len(re.findall(r"\tmax(?:\.NaN)?\.[fsu]\d\d ", in_thread)) == maxima


@triton.jit
def merged(mean, squares, count, other_mean, other_squares, other_count):
    total = count + other_count
    apart = other_mean - mean
    share = tl.where(total == 0.0, 0.0, other_count / total)
    mean += apart * share
    return mean, squares + other_squares + apart * apart * count * share, total


@triton.jit
def variances(x_ptr, out_ptr, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    x_ptr += row * columns
    mean = tl.zeros((ROWS, BLOCK), tl.float32)
    squares = tl.zeros((ROWS, BLOCK), tl.float32)
    count = tl.zeros((ROWS, BLOCK), tl.float32)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)[None, :]
        inside = (row < rows) & (column < columns)
        x = tl.load(x_ptr + column, inside, other=0.0)
        count += inside.to(tl.float32)
        apart = x - mean
        next_mean = mean + apart / tl.maximum(count, 1.0)
        squares = tl.where(inside, squares + apart * (x - next_mean), squares)
        mean = tl.where(inside, next_mean, mean)
    mean, squares, count = tl.reduce((mean, squares, count), 1, merged)
    tl.store(out_ptr + row, (squares / columns)[:, None], row < rows)


@pytest.mark.parametrize("columns", [5, 1023, 2050])
def test_loads_of_an_iteration_begin_together(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ptxas begins them one after the other, as masks take its predicates; it moves none across a
    branch (codegen/pinned_loads)."""
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    x = np.random.default_rng(columns).standard_normal((2, columns), np.float32) + 3
    out = np.full(2, 7, np.float32)
    sizes = {"ROWS": 1, "BLOCK": 1024}
    kernel = variances.warmup(x, out, 2, columns, **sizes, grid=(1,), arch="sm_90a", num_warps=4)
    assert "bra \t$L__pinned0;" in kernel.asm["ptx"]
    ptx_machine.run(kernel, [x, out, np.int32(2), np.int32(columns)], (2,))
    np.testing.assert_allclose(out, x.astype(np.float64).var(1), rtol=1e-5)


@triton.jit
def window_kernel(x_ptr, out_ptr, n, WINDOW: tl.constexpr, N: tl.constexpr):
    """The largest of each window of a picture with rows of N + WINDOW elements."""
    at = tl.arange(0, N)
    near = tl.arange(0, WINDOW)
    rows, columns = at // n, at % n
    i = rows[:, None, None] + near[None, :, None]
    j = columns[:, None, None] + near[None, None, :]
    windows = tl.load(x_ptr + i * (n + WINDOW) + j)
    tl.store(out_ptr + at, tl.max(tl.reshape(windows, (N, WINDOW * WINDOW)), 1))


def test_of_windows_lanes_share_rows_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a reshape stands before the reduction: rows of a window lie in one thread, and
    lanes exchange what is left of its columns."""
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    n, window, size = 32, 4, 1024
    x = np.random.default_rng(5).standard_normal((n + window, n + window)).astype(np.float32)
    out = np.empty((n, n), np.float32)
    kernel = window_kernel.warmup(x, out, n, window, size, grid=(1,), arch="sm_90a", num_warps=4)
    ptx_matrix_machine.run(kernel, [x, out, n])
    views = np.lib.stride_tricks.sliding_window_view(x, (window, window))[:n, :n]
    np.testing.assert_array_equal(out, views.max((2, 3)))
    windows_of_a_thread = size * window * window // 128 // window
    assert kernel.asm["ptx"].count("shfl") <= 2 * windows_of_a_thread


@triton.jit
def chosen_kernel(x_ptr, out_ptr, TIMES: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    """Marks the largest of each column, the next one and so on."""
    row, column = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    at = row * N + column
    x = tl.load(x_ptr + at)
    x = tl.dot(x, (tl.arange(0, N)[:, None] == column).to(tl.float16))  # in the layout of a dot
    for i in range(TIMES):
        best = tl.argmax(x, 0)[None, :]
        tl.store(out_ptr + at, tl.full((M, N), 1, tl.int8), mask=row == best)
        x = tl.where(row == best, -1000, x)


def test_masks_of_vectors_are_made_in_both_layouts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the store and of what is compared: no mask goes from one to the other."""
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    rng = np.random.default_rng(5)
    x = rng.permuted(np.tile(np.arange(32, dtype=np.float16)[:, None], (1, 64)), axis=0)
    out = np.zeros((32, 64), np.int8)
    kernel = chosen_kernel.warmup(x, out, 3, 32, 64, grid=(1,), arch="sm_90a", num_warps=4)
    ptx_matrix_machine.run(kernel, [x, out])
    np.testing.assert_array_equal(out, x >= 29)
    assert not re.search(r"convert_layout .*tensor<32x64xi1", kernel.asm["tlg"])
