"""Operators of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import blockscope.language as tl
import numpy as np

from op_cases.case import (
    BOOL,
    INTEGERS,
    NUMBERS,
    SIGNED,
    SMALL,
    WIDE_FLOATS,
    Block,
    OpCase,
    X,
    plain,
    true_divide,
    wrapping,
)


def _in_kind_of_first(operation: Callable[..., Any]) -> Callable[..., Any]:
    def run(*arrays: np.ndarray) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(operation(*arrays)).astype(arrays[0].dtype)

    return run


def _divide_truncating(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    exact = [abs(int(a)) // abs(int(b)) * (-1 if (a < 0) != (b < 0) else 1) for a, b in zip(x, y)]
    return np.array(exact, object).astype(x.dtype)


def _remainder_truncating(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    exact = [abs(int(a)) % abs(int(b)) * (-1 if a < 0 else 1) for a, b in zip(x, y)]
    return np.array(exact, object).astype(x.dtype)


CASES: list[OpCase] = [
    OpCase("add", lambda x, y: x + y, [X, X], wrapping(np.add)),
    OpCase("sub", lambda x, y: x - y, [X, X], wrapping(np.subtract)),
    OpCase("mul", lambda x, y: x * y, [X, X], wrapping(np.multiply)),
    OpCase("tl_add", plain(tl.add), [X, X], wrapping(np.add), ("int32", "fp32")),
    OpCase("tl_sub", plain(tl.sub), [X, X], wrapping(np.subtract), ("int32", "fp32")),
    OpCase("tl_mul", plain(tl.mul), [X, X], wrapping(np.multiply), ("int32", "fp32")),
    OpCase("add_bool", lambda x, y: x + y, [X, X], np.logical_xor, BOOL),
    OpCase("sub_bool", lambda x, y: x - y, [X, X], np.logical_xor, BOOL),
    OpCase("mul_bool", lambda x, y: x * y, [X, X], np.logical_and, BOOL),
    OpCase("truediv", lambda x, y: x / y, [X, Block(low=1, high=100)], true_divide),
    OpCase(
        "floordiv", lambda x, y: x // y, [X, Block(low=1, high=100)], _divide_truncating, INTEGERS
    ),
    OpCase(
        "floordiv_negative",
        lambda x, y: x // y,
        [Block(low=-100, high=100), Block(low=-7, high=-2)],
        _divide_truncating,
        SIGNED,
    ),
    OpCase("floordiv_zero", lambda x: x // (x - x), [X], np.zeros_like, INTEGERS),
    OpCase("mod_zero", lambda x: x % (x - x), [X], np.zeros_like, INTEGERS),
    OpCase(
        "floordiv_minus_one",
        lambda x: x // tl.full((128,), -1, x.dtype),
        [X],
        wrapping(np.negative),
        SIGNED,
    ),
    OpCase("lshift_width", lambda x: x << x.dtype.int_bitwidth, [X], np.zeros_like, INTEGERS),
    OpCase(
        "rshift_width",
        lambda x: x >> x.dtype.int_bitwidth,
        [X],
        lambda x: (-(x < 0).astype(np.int8)).astype(x.dtype),
        INTEGERS,
    ),
    OpCase("mod", lambda x, y: x % y, [X, Block(low=1, high=100)], _remainder_truncating, INTEGERS),
    OpCase(
        "mod_negative",
        lambda x, y: x % y,
        [Block(low=-100, high=100), Block(low=-7, high=-2)],
        _remainder_truncating,
        SIGNED,
    ),
    OpCase(
        "mod_float",
        lambda x, y: x % y,
        [X, Block(low=0.5, high=9)],
        wrapping(np.fmod),
        WIDE_FLOATS,
    ),
    OpCase("neg", lambda x: -x, [X], wrapping(np.negative)),
    OpCase("pos", lambda x: +x, [X], lambda x: x),
    OpCase("and", lambda x, y: x & y, [X, X], np.bitwise_and, INTEGERS + BOOL),
    OpCase("or", lambda x, y: x | y, [X, X], np.bitwise_or, INTEGERS + BOOL),
    OpCase("xor", lambda x, y: x ^ y, [X, X], np.bitwise_xor, INTEGERS + BOOL),
    OpCase("invert", lambda x: ~x, [X], np.invert, INTEGERS + BOOL),
    OpCase("lshift", lambda x, y: x << y, [X, Block(low=0, high=7)], np.left_shift, INTEGERS),
    OpCase("rshift", lambda x, y: x >> y, [X, Block(low=0, high=7)], np.right_shift, INTEGERS),
    OpCase("eq", lambda x, y: x == y, [SMALL, SMALL], wrapping(np.equal), NUMBERS + BOOL),
    OpCase("ne", lambda x, y: x != y, [X, X], wrapping(np.not_equal), NUMBERS + BOOL),
    OpCase("lt", lambda x, y: x < y, [X, X], wrapping(np.less), NUMBERS + BOOL),
    OpCase("le", lambda x, y: x <= y, [X, X], wrapping(np.less_equal), NUMBERS + BOOL),
    OpCase("gt", lambda x, y: x > y, [X, X], wrapping(np.greater), NUMBERS + BOOL),
    OpCase("ge", lambda x, y: x >= y, [X, X], wrapping(np.greater_equal), NUMBERS + BOOL),
    OpCase("add_number", lambda x: x + 3, [X], _in_kind_of_first(lambda x: x + x.dtype.type(3))),
    OpCase(
        "number_sub", lambda x: 100 - x, [X], _in_kind_of_first(lambda x: x.dtype.type(100) - x)
    ),
    OpCase(
        "logical_and",
        lambda x, y: x.logical_and(y),
        [SMALL, SMALL],
        np.logical_and,
        INTEGERS + BOOL,
    ),
    OpCase(
        "logical_or", lambda x, y: x.logical_or(y), [SMALL, SMALL], np.logical_or, INTEGERS + BOOL
    ),
    OpCase("logical_not", lambda x: x.logical_not(), [SMALL], np.logical_not, INTEGERS + BOOL),
]
