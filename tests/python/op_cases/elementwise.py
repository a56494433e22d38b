"""Elementwise functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import blockscope
import blockscope.language as tl
import ml_dtypes
import numpy as np
from blockscope.language.extra import libdevice

from op_cases.case import (
    FLOATS,
    INTEGERS,
    NUMBERS,
    SMALL,
    WIDE_FLOATS,
    Block,
    OpCase,
    X,
    plain,
    true_divide,
    wrapping,
)


def _extreme(which: Callable[..., Any]) -> Callable[..., Any]:
    def run(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        if x.dtype == ml_dtypes.bfloat16:
            x, y = x.astype(np.float32), y.astype(np.float32)
        return which(x, y)

    return run


def _clamp(x: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    if x.dtype == ml_dtypes.bfloat16:
        x, low, high = (v.astype(np.float32) for v in (x, low, high))
    return np.fmin(np.fmax(x, low), high)


def _high_signed_product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    exact = [(int(a) * int(b)) >> (x.dtype.itemsize * 8) for a, b in zip(x, y)]
    return np.array(exact, x.dtype)


def _high_product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    bits = x.dtype.itemsize * 8
    mask = (1 << bits) - 1
    exact = [((int(a) & mask) * (int(b) & mask)) >> bits for a, b in zip(x, y)]
    return np.array(exact, np.uint64).astype(f"uint{bits}").view(x.dtype)


@blockscope.jit
def _order(x, y):
    if x < y:
        return -1
    elif x == y:
        return 0
    else:
        return 1


@blockscope.jit
def _steps(x, limit):
    """How often x is halved until it is no more than the limit, and what is left."""
    n = 0
    while x > limit:
        x = x // 2
        n += 1
    return n, x


@blockscope.jit
def _both(x0, x1, y0, y1):
    if x0 < x1:
        return x1 + y0, x0 + y1, y0 < y1, y1 < y0
    return x0 + y0, x1 + y1, y0 < y1, y1 < y0


@blockscope.jit
def _product(x, y):
    return x * y


def _halved(x: np.ndarray, limit: int) -> tuple[np.ndarray, np.ndarray]:
    n, x = np.zeros(x.shape, np.int32), x.copy()
    while (x > limit).any():
        n += x > limit
        x = np.where(x > limit, x // 2, x)
    return n, x


def _pairs(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    x0, x1, y0, y1 = x[..., ::2], x[..., 1::2], y[..., ::2], y[..., 1::2]
    first, second = np.where(x0 < x1, x1, x0) + y0, np.where(x0 < x1, x0, x1) + y1
    mixed = np.stack([first, second], -1).reshape(x.shape)
    return mixed, np.stack([y0 < y1, y1 < y0], -1).reshape(x.shape)


CASES: list[OpCase] = [
    OpCase(
        "map_elementwise_order",
        lambda x, y: tl.map_elementwise(_order, x, y),
        [SMALL, SMALL],
        lambda x, y: (x > y).astype(np.int32) - (x < y).astype(np.int32),
        ("int8", "int32", "uint16", "fp32"),
    ),
    OpCase(
        "map_elementwise_loops",
        lambda x: tuple(tl.map_elementwise(_steps, x, 3)),
        [Block((16, 32))],
        lambda x: _halved(x, 3),
        ("int32", "int64"),
    ),
    OpCase(
        "map_elementwise_pairs",
        lambda x, y: tuple(tl.map_elementwise(_both, x, y, pack=2)),
        [Block((8, 16), -8, 8), Block((8, 16), -8, 8)],
        _pairs,
        ("int32", "fp32"),
    ),
    OpCase(
        "map_elementwise_broadcasts",
        lambda x, y: tl.map_elementwise(_product, x, tl.expand_dims(y, 1)),
        [Block((16, 32), -8, 8), Block((16,), -8, 8)],
        lambda x, y: x * y[:, None],
        ("int32", "fp32", "fp64"),
    ),
    OpCase("minimum", plain(tl.minimum), [X, Block(edges=False)], _extreme(np.fmin)),
    OpCase("maximum", plain(tl.maximum), [X, Block(edges=False)], _extreme(np.fmax)),
    OpCase(
        "minimum_nan",
        lambda x, y: tl.minimum(x, y, tl.PropagateNan.ALL),
        [X, Block(edges=False)],
        _extreme(np.minimum),
        FLOATS,
    ),
    OpCase(
        "maximum_nan",
        lambda x, y: tl.maximum(x, y, tl.PropagateNan.ALL),
        [X, Block(edges=False)],
        _extreme(np.maximum),
        FLOATS,
    ),
    OpCase(
        "clamp",
        plain(tl.clamp),
        [Block(edges=False), Block(low=-2, high=-1), Block(low=0, high=1)],
        _clamp,
        FLOATS,
    ),
    OpCase(
        "clamp_numbers",
        lambda x: tl.clamp(x, 2, 50),
        [X],
        lambda x: np.minimum(np.maximum(x, x.dtype.type(2)), x.dtype.type(50)),
        INTEGERS,
    ),
    OpCase(
        "clamp_half",
        lambda x: tl.clamp(x, 0.0, 1.0),
        [Block(edges=False)],
        lambda x: np.clip(x, np.float16(0), np.float16(1)),
        ("fp16",),
    ),
    OpCase("where", plain(tl.where), [Block(dtype="int1"), X, X], np.where, NUMBERS),
    OpCase("abs", plain(tl.abs), [X], wrapping(np.abs)),
    OpCase(
        "cdiv",
        plain(tl.cdiv),
        [Block(low=0, high=90), Block(low=1, high=9)],
        lambda x, y: -(-x.astype(np.int64) // y.astype(np.int64)).astype(x.dtype),
        ("int32", "int64"),
    ),
    OpCase("fdiv", plain(tl.fdiv), [X, Block(low=1, high=9)], true_divide, WIDE_FLOATS),
    OpCase(
        "fdiv_approx",
        lambda x, y: tl.fdiv(x, y, approx=True),
        [X, Block(low=1, high=9)],
        true_divide,
        ("fp32",),
    ),
    OpCase("div_rn", plain(tl.div_rn), [X, Block(low=1, high=9)], true_divide, ("fp32",)),
    OpCase("sqrt_rn", plain(tl.sqrt_rn), [X], wrapping(np.sqrt), ("fp32",)),
    OpCase(
        "fma",
        plain(tl.fma),
        [SMALL, SMALL, SMALL],
        lambda x, y, z: (x.astype(np.float64) * y + z).astype(x.dtype),
        ("fp32",),
    ),
    OpCase("mulhi", plain(libdevice.mulhi), [X, X], _high_signed_product, ("int32", "int64")),
    OpCase(
        "umulhi", plain(tl.umulhi), [X, X], _high_product, ("int32", "uint32", "int64", "uint64")
    ),
]
