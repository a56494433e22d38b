"""Conversions between types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import blockscope.language as tl
import ml_dtypes
import numpy as np

from op_cases.case import (
    BOOL,
    FLOATS,
    FP8,
    INTEGERS,
    NUMBERS,
    SMALL,
    WIDE_FLOATS,
    Block,
    OpCase,
    X,
    numpy_dtype,
)


def _cast_to(name: str) -> Callable[..., Any]:
    def run(x: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return x.astype(numpy_dtype(name))

    return run


CASES: list[OpCase] = (
    [
        OpCase(
            f"cast_{name}",
            (lambda name: lambda x: x.to(tl.dtype(name)))(name),
            [Block(edges=False)],
            _cast_to(name),
            NUMBERS + BOOL if name in FLOATS else INTEGERS + BOOL,
        )
        for name in NUMBERS
    ]
    + [
        OpCase(
            f"cast_{name}",
            (lambda name: lambda x: x.to(tl.dtype(name)))(name),
            [Block(low=-200, high=200)],
            _cast_to(name),
            ("fp32", "fp16", "bf16"),
        )
        for name in FP8
    ]
    + [
        OpCase("cast_int1", lambda x: x.to(tl.int1), [SMALL], lambda x: x != 0, NUMBERS),
        OpCase("cast_from_fp8", lambda x: x.to(tl.float32), [X], _cast_to("fp32"), FP8),
        OpCase(
            "cast_float_to_int",
            lambda x: x.to(tl.int32),
            [Block(low=-1000, high=1000)],
            _cast_to("int32"),
            FLOATS,
        ),
        OpCase(
            "cast_saturates",
            lambda x: x.to(tl.int32),
            [Block(low=3e9, high=9e9)],
            lambda x: np.full(x.shape, 2**31 - 1, np.int32),
            WIDE_FLOATS,
        ),
        # As the hardware does: 0, but the smallest integer where 64 bits take part.
        OpCase(
            "cast_nan_to_int",
            lambda x: (x * float("nan")).to(tl.int32),
            [SMALL],
            lambda x: np.full(x.shape, 0 if x.dtype == np.float32 else -(2**31), np.int32),
            WIDE_FLOATS,
        ),
        OpCase(
            "bitcast",
            lambda x: x.to(tl.int32, bitcast=True),
            [X],
            lambda x: x.view(np.int32),
            ("fp32", "uint32", "int32"),
        ),
        OpCase(
            "bitcast_16",
            lambda x: x.to(tl.int16, bitcast=True),
            [X],
            lambda x: x.view(np.int16),
            ("fp16", "bf16", "uint16"),
        ),
        OpCase(
            "cast_rtz",
            lambda x: tl.cast(x, tl.bfloat16, fp_downcast_rounding="rtz"),
            [Block(edges=False)],
            lambda x: (x.view(np.uint32) >> 16).astype(np.uint16).view(ml_dtypes.bfloat16),
            ("fp32",),
        ),
    ]
)
