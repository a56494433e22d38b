"""Kernels that random ones were cut down to (tests/fuzz/random_kernels), and what NumPy makes of
them: on the CPU, and as PTX run by ptx_machine.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import numpy as np
import ptx_matrix_machine
import pytest
from test_gpu_machine import ARCHS, launcher


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")


def hold(kernel: Any, inputs: Sequence[Any], expected: Any, warps: int = 4) -> None:
    """The kernel writes this to its first argument."""
    expected = np.asarray(expected)
    out = np.zeros_like(expected)
    for step in (False, True):
        triton.set_interpret_mode(step)
        try:
            out[...] = 0
            kernel[(1,)](out, *inputs)
        finally:
            triton.set_interpret_mode(False)
        np.testing.assert_array_equal(out, expected)
    if not gpu_rows.has_tools():
        pytest.skip("ptxas and libdevice are not installed (nvidia-cuda-nvcc)")
    for arch in ARCHS:
        out[...] = 0
        launcher(arch)(kernel, [out, *inputs], warps, {})
        np.testing.assert_array_equal(out, expected, err_msg=arch)


@triton.jit
def larger_half(out, x):
    a, b = tl.split(tl.load(x + tl.arange(0, 2)))
    if a > b:
        tl.store(out, a)
    else:
        tl.store(out, b)


@pytest.mark.parametrize("warps", [1, 4])
def test_split_of_a_loaded_pair_gives_scalars(warps: int) -> None:
    hold(larger_half, [np.array([3, 8], np.int32)], np.array([8], np.int32), warps)
    hold(larger_half, [np.array([9, 8], np.int32)], np.array([9], np.int32), warps)


@triton.jit
def constant_pair(out):
    if tl.split(tl.full([2], True, tl.int1))[1]:
        tl.store(out, 7)


def test_split_of_a_constant_pair_gives_scalars() -> None:
    hold(constant_pair, [], np.array([7], np.int32))


@triton.jit
def pair_of_scalars(out, x):
    both = tl.join(tl.load(x + 1), tl.load(x + 3))
    tl.store(out + tl.arange(0, 2), both)
    tl.store(out + 2 + tl.arange(0, 2), tl.join(tl.load(x), 7) + both)


@pytest.mark.parametrize("warps", [1, 4])
def test_join_of_scalars_has_both(warps: int) -> None:
    x = np.array([2, 3, 5, 9], np.int32)
    hold(pair_of_scalars, [x], np.array([3, 9, 5, 16], np.int32), warps)


@triton.jit
def chosen_argument(out, x, y, chooses):
    tl.store(out, tl.load((x if tl.load(chooses) else y) + 1))


@pytest.mark.parametrize("first", [0, 1])
def test_a_pointer_chosen_from_two_arguments(first: int) -> None:
    x, y = np.array([1, 2], np.int32), np.array([3, 4], np.int32)
    hold(
        chosen_argument, [x, y, np.array([first], np.int32)], np.array([4, 2][first:][:1], np.int32)
    )


@triton.jit
def rows_of_sorted(out, x):
    at = tl.arange(0, 8)[:, None] * 4 + tl.arange(0, 4)[None, :]
    rows = tl.gather(tl.sort(tl.load(x + at)), tl.full([8, 4], 1, tl.int32), 0)
    tl.store(out + at, rows)


@pytest.mark.parametrize("warps", [1, 4])
def test_rows_are_gathered_from_sorted_rows(warps: int) -> None:
    """Not along the dimension that was sorted, so that all of the sort is needed."""
    x = np.arange(32, dtype=np.int32)[::-1].copy()
    hold(rows_of_sorted, [x], np.tile(np.arange(24, 28, dtype=np.int32), 8), warps)


@triton.jit
def bytes_by_columns(out, x, count):
    row, column = tl.arange(0, 256)[:, None], tl.arange(0, 2)[None, :]
    total = tl.zeros([256, 2], tl.int32)
    for _ in tl.range(0, tl.load(count), num_stages=3):
        total += tl.load(x + (4 + row + column * 256))
    tl.store(out + row * 2 + column, total)


@pytest.mark.skipif(not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed")
@pytest.mark.parametrize("warps", [1, 4])
def test_bytes_that_lie_by_columns_are_not_copied_by_rows(warps: int) -> None:
    """A buffer by rows has two of them in a row, an asynchronous copy takes four."""
    x, out = np.arange(1024).astype(np.uint8), np.zeros(512, np.int32)
    arguments = [out, x, np.array([3], np.int32)]
    compiled = bytes_by_columns.warmup(*arguments, grid=(1,), arch="sm_90a", num_warps=warps)
    ptx_matrix_machine.run(compiled, arguments, (1, 1, 1))
    want = 3 * x[4:516].astype(np.int32).reshape(2, 256).T.reshape(-1)
    np.testing.assert_array_equal(out, want)


@triton.jit
def affine(a0, a1, b0, b1):
    """First b, then a: associative, but the order matters."""
    return a0 * b0, a0 * b1 + a1


@triton.jit
def affine_of_all(out, x, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    first, second = tl.reduce((tl.load(x + at), tl.load(x + SIZE + at)), 0, affine)
    tl.store(out, first)
    tl.store(out + 1, second)


@triton.jit
def affine_of_rows(out, x, ROWS: tl.constexpr, COLUMNS: tl.constexpr, AXIS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    first, second = tl.reduce((tl.load(x + at), tl.load(x + ROWS * COLUMNS + at)), AXIS, affine)
    line = tl.arange(0, COLUMNS if AXIS == 0 else ROWS)
    tl.store(out + line, first)
    tl.store(out + line + (COLUMNS if AXIS == 0 else ROWS), second)


def affine_by_halves(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Along the first axis: element i with i + n/2, then i + n/4, and so on."""
    while len(a) > 1:
        half = len(a) // 2
        a, b = a[:half] * a[half:], a[:half] * b[half:] + b[:half]
    return np.concatenate([a[0], b[0]], axis=None)


def odd_numbers(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(5).integers(0, 1 << 32, (2, *shape), np.uint32) | np.uint32(1)


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("size", [2, 64, 2048])
def test_elements_are_combined_in_one_order_everywhere(size: int, warps: int) -> None:
    x = odd_numbers((size,))
    hold(affine_of_all, [x, size], affine_by_halves(*x), warps)


@pytest.mark.parametrize("warps", [1, 8])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(4, 64), (128, 8), (64, 64)])
def test_rows_are_combined_in_one_order_everywhere(
    shape: tuple[int, int], axis: int, warps: int
) -> None:
    x = odd_numbers(shape)
    expected = affine_by_halves(*np.moveaxis(x, axis + 1, 1))
    hold(affine_of_rows, [x, *shape, axis], expected, warps)


@triton.jit
def larger_value(a, i, b, j):
    first = (a > b) | ((a == b) & (i < j))
    return tl.where(first, a, b), tl.where(first, i, j)


@triton.jit
def larger_magnitude(a, i, b, j):
    p, q = tl.abs(a), tl.abs(b)
    return tl.where(p >= q, p, q), tl.maximum(i, j)


@triton.jit
def last_number(a, i, b, j):
    return tl.where(b == b, b, a), tl.where(b == b, j, i)


@triton.jit
def log_of_sum(m, s, n, t):
    top = tl.maximum(m, n)
    return top, s * tl.exp(m - top) + t * tl.exp(n - top)


@triton.jit
def mean_and_weight(m, w, n, v):
    total = w + v
    return m + (n - m) * tl.where(total == 0.0, 0.0, v / total), total


@triton.jit
def last_above(a, i, b, j):
    """Only far from 0 the order makes a difference."""
    return tl.where(b > 77777.0, b, tl.where(a > 77777.0, a, a + b)), i + j


@triton.jit
def last_marked(a, i, b, j):
    return tl.where(b == 50256, b, tl.maximum(a, b)), tl.where(b == 50256, j, tl.maximum(i, j))


@triton.jit
def signed_by_magnitude(a, i, b, j):
    """Of 3 and -3 the first."""
    return tl.where(tl.abs(a) >= tl.abs(b), a, b), i + j


@triton.jit
def reduced_by(out, x, combine: tl.constexpr):
    at = tl.arange(0, 512)
    values = tl.load(x + at)
    first, second = tl.reduce((values, at.to(values.dtype)), 0, combine)
    tl.store(out, first + second)


@pytest.mark.skipif(not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed")
def test_functions_that_are_seen_to_commute_exchange_least() -> None:
    """Own functions too: lanes exchange what is left of all registers of a thread."""

    def shuffles(combine: Any, dtype: Any) -> int:
        compiled = reduced_by.warmup(dtype, dtype, combine, grid=(1,), arch="sm_90a", num_warps=1)
        return compiled.asm["ptx"].count("shfl.sync")

    assert shuffles(larger_value, tl.int32) < shuffles(affine, tl.int32)
    for combine in (log_of_sum, larger_value, larger_magnitude, mean_and_weight):
        assert shuffles(combine, tl.float32) < shuffles(affine, tl.float32)
    for combine in (last_number, last_above, signed_by_magnitude):
        assert shuffles(combine, tl.float32) == shuffles(affine, tl.float32)
    assert shuffles(last_marked, tl.int32) == shuffles(affine, tl.int32)


@triton.jit
def stored_by_columns(out, lower, x, y, count):
    total = tl.zeros([128, 64], tl.float32)
    row, column, inner = tl.arange(0, 128), tl.arange(0, 64), tl.arange(0, 32)
    for i in tl.range(0, count, num_stages=2):
        a = tl.load(x + row[:, None] * 97 + i * 32 + inner[None, :])
        b = tl.load(y + column[None, :] * 96 + i * 32 + inner[:, None])
        total = tl.dot(a, b, total)
    tl.store(out + row[:, None] + column[None, :] * 128, total)
    at = tl.arange(0, 32)[:, None] * 8 + tl.arange(0, 8)[None, :]
    largest = tl.topk((tl.load(lower + at) * 3).to(tl.float32), 2)
    tl.store(out + 8192 + tl.arange(0, 32)[:, None] * 2 + tl.arange(0, 2)[None, :], largest)


@pytest.mark.skipif(not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed")
@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_120a"])
def test_small_scratch_waits_for_the_readers_of_a_large_one(arch: str, warps: int) -> None:
    """The large one, of the store, has the bytes of buffers too, and of the scratch behind them."""
    random = np.random.default_rng(3)
    x = random.integers(-2, 3, 128 * 97).astype(np.float16)
    y = random.integers(-2, 3, 64 * 96).astype(np.float16)
    lower = random.integers(-9, 9, 256).astype(np.int32)
    a = np.stack([x[row * 97 : row * 97 + 96] for row in range(128)]).astype(np.float32)
    dots = (a @ y.reshape(64, 96).T.astype(np.float32)).T
    largest = -np.sort(-lower.reshape(32, 8) * 3, 1)[:, :2].astype(np.float32)
    expected = np.concatenate([dots, largest], axis=None)
    out = np.zeros_like(expected)
    arguments = [out, lower, x, y, 3]
    compiled = stored_by_columns.warmup(*arguments, grid=(1,), arch=arch, num_warps=warps)
    ptx_matrix_machine.run(compiled, arguments, (1, 1, 1))
    np.testing.assert_array_equal(out, expected)


@triton.jit
def remainders(out, x, y):
    offsets = tl.arange(0, 64)
    tl.store(out + offsets, tl.load(x + offsets) % tl.load(y + offsets))


def test_remainders_of_floats_far_apart() -> None:
    """libdevice subtracts multiples that it rounds toward zero."""
    random = np.random.default_rng(3)
    x, y = (np.ldexp(random.uniform(0.5, 1, 64), random.integers(low, high, 64)).astype(np.float32)
            for low, high in ((20, 120), (-90, 20)))  # fmt: skip
    hold(remainders, [x, y], np.fmod(x, y))
