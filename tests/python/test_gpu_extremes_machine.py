"""Largest and smallest values with their places, found in two steps on a GPU: the bits of the CPU,
run by ptx_machine.py.
"""

from __future__ import annotations

from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import numpy as np
import ptx_machine
import pytest
from test_gpu_reduce_machine import last_largest

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)


@triton.jit
def nan_first(x: Any, i: Any, y: Any, j: Any) -> Any:
    """The smallest one, and a NaN before all numbers, as compilers of tensors define it."""
    takes_first = x < y
    same = x == y
    if x.dtype.is_floating():
        is_nan, other_is_nan = x != x, y != y
        takes_first = takes_first | (is_nan & (~other_is_nan))
        same = same | (is_nan & other_is_nan)
    takes_first = takes_first | (same & (i < j))
    return tl.where(takes_first, x, y), tl.where(takes_first, i, j)


@triton.jit
def kernel(x_ptr, place_ptr, value_ptr, found_ptr, WAY: tl.constexpr, AXIS: tl.constexpr,
           M: tl.constexpr, N: tl.constexpr):  # fmt: skip
    row, column = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + row * N + column)
    place = tl.load(place_ptr + row * N + column)
    if WAY == "max":
        value, found = tl.max(x, AXIS, return_indices=True)
    elif WAY == "min":
        value, found = tl.min(x, AXIS, return_indices=True)
    elif WAY == "nan_first":
        value, found = tl.reduce((x, place), AXIS, nan_first)
    else:
        value, found = tl.reduce((x, place), AXIS, last_largest)
    offsets = tl.arange(0, N if AXIS == 0 else M)
    tl.store(value_ptr + offsets, value)
    tl.store(found_ptr + offsets, found)


def values(dtype: str, shape: tuple[int, int], has_nan: bool) -> Any:
    """Few different ones, zeros of both signs among them, NaN and a row of NaN."""
    rng = np.random.default_rng(0)
    x = rng.integers(-2, 3, shape).astype(dtype)
    if dtype.startswith("uint"):
        return rng.integers(0, 2, shape).astype(dtype) * np.iinfo(dtype).max
    if dtype.startswith("float"):
        x[rng.random(shape) < 0.3] = -0.0
        x[3] = np.where(rng.random(shape[1]) < 0.5, 0.0, -0.0)
        x[:, 3] = -np.abs(x[:, 3] * 0)
        if has_nan:
            x[rng.random(shape) < 0.2] = np.nan
            x[1] = np.nan
            x[:, 1] = np.nan
            x[2] = -np.inf
    return x


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("shape", [(4, 256), (64, 8), (16, 64)])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(
    ("way", "dtype", "places"),
    [
        ("max", "float32", "int32"),
        ("min", "float64", "int32"),
        ("max", "float16", "int32"),
        ("min", "int8", "int32"),
        ("max", "uint32", "int32"),
        ("nan_first", "float32", "int64"),
        ("nan_first", "int64", "uint32"),
        ("last", "float32", "int32"),
        ("last", "uint8", "int16"),
    ],
)
def test_value_and_place_are_those_of_the_cpu(
    way: str, dtype: str, places: str, axis: int, shape: tuple[int, int], warps: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    # What does not look for NaN gives what the order of elements makes of it.
    x = values(dtype, shape, has_nan=way != "last")
    count = shape[1 - axis]
    place = np.random.default_rng(1).permutation(x.size).reshape(shape).astype(places)
    got, want = ([np.empty(count, dtype), np.empty(count, places)] for _ in range(2))
    if way in ("max", "min"):
        got[1], want[1] = got[1].astype(np.int32), want[1].astype(np.int32)
    kernel[(1,)](x, place, *want, way, axis, *shape, num_warps=warps)
    compiled = kernel.warmup(
        x, place, *got, way, axis, *shape, grid=(1,), arch="sm_90a", num_warps=warps
    )
    ptx_machine.run(compiled, [x, place, *got])
    assert np.array_equal(got[1], want[1])
    is_nan = want[0] != want[0]
    assert np.array_equal(got[0] != got[0], is_nan)
    assert np.array_equal(got[0][~is_nan].view(f"u{x.itemsize}"),
                          want[0][~is_nan].view(f"u{x.itemsize}"))  # fmt: skip


def test_pairs_are_not_compared_in_a_warp(monkeypatch: pytest.MonkeyPatch) -> None:
    """16 values of a thread and 32 lanes: 15 and 5 maxima, where comparing pairs took 20 times
    five comparisons and as many choices."""
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    x, out = np.zeros((1, 512), np.float32), np.zeros(1, np.int32)
    compiled = argmax_kernel.warmup(x, out, 512, grid=(1,), arch="sm_90a", num_warps=1)
    ptx = compiled.asm["ptx"]
    assert ptx.count("max.f32") == 20
    assert ptx.count("redux.sync.min.s32") == 1
    assert ptx.count("shfl.sync") == 5
    assert ptx.count("setp.") < 25


@triton.jit
def argmax_kernel(x_ptr, out_ptr, N: tl.constexpr):
    tl.store(out_ptr, tl.argmax(tl.load(x_ptr + tl.arange(0, N)), 0))
