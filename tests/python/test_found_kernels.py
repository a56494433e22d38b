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
