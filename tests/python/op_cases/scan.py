"""Inclusive scans."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import blockscope
import blockscope.language as tl
import ml_dtypes
import numpy as np

from op_cases.case import (
    SMALL,
    Block,
    OpCase,
    plain,
    widened,
)


def _running(operation: Callable[..., Any]) -> Callable[..., Any]:
    def run(x: np.ndarray) -> np.ndarray:
        is_small = x.dtype.kind in "iu" and x.dtype.itemsize < 4
        if is_small:
            x = widened(x)
        if x.dtype == ml_dtypes.bfloat16:
            x = x.astype(np.float32)
        distance = 1  # the documented order: steps of 1, 2, 4, ...
        with np.errstate(all="ignore"):
            while distance < x.shape[0]:
                combined = operation(x[:-distance], x[distance:])
                x = np.concatenate([x[:distance], combined])
                distance *= 2
        return x

    return run


@blockscope.jit
def larger(a, b):
    if a > b:  # in step mode a Python 'if', lane by lane
        result = a
    else:
        result = b
    return result


CASES: list[OpCase] = [
    OpCase("cumsum", plain(tl.cumsum), [SMALL], _running(np.add)),
    OpCase(
        "cumprod",
        plain(tl.cumprod),
        [Block((16,), 1, 2)],
        _running(np.multiply),
        ("int8", "uint16", "int32", "int64", "fp32", "fp64"),
    ),
    OpCase(
        "associative_scan",
        lambda x: tl.associative_scan(x, 0, larger),
        [SMALL],
        np.maximum.accumulate,
        ("int32", "uint8", "fp32"),
    ),
    OpCase(
        "cumsum_reverse",
        lambda x: tl.cumsum(x, 0, reverse=True),
        [SMALL],
        lambda x: _running(np.add)(x[::-1])[::-1],
        ("int32", "fp32"),
    ),
]
