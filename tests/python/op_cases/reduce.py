"""Reductions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import blockscope
import blockscope.language as tl
import ml_dtypes
import numpy as np

from op_cases.case import (
    BOOL,
    INTEGERS,
    MATRIX,
    SMALL,
    WIDE_FLOATS,
    Block,
    OpCase,
    X,
    plain,
    widened,
)


def _compared(x: np.ndarray) -> np.ndarray:
    """What max and min compute small types in."""
    wide = widened(x)
    return wide.astype(np.int32) if x.dtype.itemsize < 4 and x.dtype.kind == "u" else wide


def by_halves(x: np.ndarray, axis: int, combine: Callable[..., Any]) -> np.ndarray:
    """Reduce in the documented order: element i with i + n/2, then with i + n/4, ..."""
    x = np.moveaxis(x, axis, 0)
    while x.shape[0] > 1:
        half = x.shape[0] // 2
        x = combine(x[:half], x[half:])
    return x[0]


def _sum(axis: int) -> Callable[..., Any]:
    def run(x: np.ndarray) -> np.ndarray:
        wide = x if x.dtype.kind in "fV" or x.dtype == ml_dtypes.bfloat16 else widened(x)
        with np.errstate(all="ignore"):
            return by_halves(wide, axis, lambda a, b: a + b)

    return run


@blockscope.jit
def product_of_sums(a, b):
    return a * b + (a + b)  # (a + 1) * (b + 1) - 1: associative


CASES: list[OpCase] = [
    OpCase("sum", plain(tl.sum), [SMALL], _sum(0)),
    OpCase("sum_rows", lambda x: tl.sum(x, 1), [Block((16, 32), -8, 8)], _sum(1)),
    OpCase("sum_columns", lambda x: tl.sum(x, 0), [Block((16, 32), -8, 8)], _sum(0)),
    OpCase(
        "sum_keep",
        lambda x: x.sum(1, keep_dims=True),
        [Block((16, 32), -8, 8)],
        lambda x: _sum(1)(x)[:, None],
        ("fp32", "int32"),
    ),
    OpCase(
        "sum_dtype",
        lambda x: tl.sum(x, 0, dtype=tl.float32),
        [SMALL],
        lambda x: _sum(0)(x.astype(np.float32)),
        ("fp16", "bf16", "int8"),
    ),
    OpCase("sum_bool", plain(tl.sum), [X], lambda x: np.uint32(x.sum()), BOOL),
    OpCase("max", plain(tl.max), [Block()], lambda x: np.fmax.reduce(_compared(x))),
    OpCase("min", plain(tl.min), [Block()], lambda x: np.fmin.reduce(_compared(x))),
    OpCase("max_rows", lambda x: tl.max(x, 1), [MATRIX], lambda x: np.fmax.reduce(_compared(x), 1)),
    OpCase(
        "argmax",
        lambda x: tl.argmax(x, 1),
        [Block((16, 32), -9, 9)],
        lambda x: np.argmax(x, 1).astype(np.int32),
    ),
    OpCase(
        "argmin",
        lambda x: tl.argmin(x, 0),
        [Block((16, 32), -9, 9)],
        lambda x: np.argmin(x, 0).astype(np.int32),
    ),
    OpCase(
        "argmax_nan",
        lambda x: tl.argmax(x, 0),
        [Block()],
        lambda x: np.int32(np.nanargmax(x.astype(np.float64))),
        WIDE_FLOATS,
    ),
    OpCase(
        "max_with_index",
        lambda x: tl.max(x, 1, return_indices=True),
        [Block((16, 32), -99, 99)],
        lambda x: (x.max(1), np.argmax(x, 1).astype(np.int32)),
        ("fp32", "int32", "fp16"),
    ),
    OpCase(
        "reduce",
        lambda x: tl.reduce(x, 0, product_of_sums),
        [Block(low=1, high=3)],
        lambda x: by_halves(x, 0, lambda a, b: a * b + (a + b)),
        ("int32", "uint8", "fp64"),
    ),
    OpCase("xor_sum", plain(tl.xor_sum), [X], np.bitwise_xor.reduce, INTEGERS),
    OpCase("reduce_or", lambda x: tl.reduce_or(x, 0), [X], np.bitwise_or.reduce, INTEGERS),
]
