"""Functions of mathematics."""

from __future__ import annotations

import math

import blockscope.language as tl
import numpy as np

from op_cases.case import (
    SMALL,
    WIDE_FLOATS,
    Block,
    OpCase,
    X,
    plain,
    wrapping,
)


def _erf(x: np.ndarray) -> np.ndarray:
    return np.array([math.erf(v) for v in x.ravel()]).reshape(x.shape)


POSITIVE = Block(low=0.01, high=50)
# The libraries' functions differ from NumPy's in the last bits.
_CLOSE = {"rtol": 1e-6}
CASES: list[OpCase] = [
    OpCase("exp", plain(tl.exp), [SMALL], np.exp, WIDE_FLOATS, **_CLOSE),
    OpCase("exp2", plain(tl.exp2), [SMALL], np.exp2, WIDE_FLOATS, **_CLOSE),
    OpCase("log", plain(tl.log), [POSITIVE], np.log, WIDE_FLOATS, **_CLOSE),
    OpCase("log2", plain(tl.log2), [POSITIVE], np.log2, WIDE_FLOATS, **_CLOSE),
    OpCase("sin", plain(tl.sin), [SMALL], np.sin, WIDE_FLOATS, **_CLOSE),
    OpCase("cos", plain(tl.cos), [SMALL], np.cos, WIDE_FLOATS, **_CLOSE),
    OpCase("sqrt", plain(tl.sqrt), [X], wrapping(np.sqrt), WIDE_FLOATS),
    OpCase(
        "rsqrt",
        plain(tl.rsqrt),
        [POSITIVE],
        lambda x: (1 / np.sqrt(x)).astype(x.dtype),
        WIDE_FLOATS,
        **_CLOSE,
    ),
    OpCase("erf", plain(tl.erf), [SMALL], lambda x: _erf(x).astype(x.dtype), WIDE_FLOATS, **_CLOSE),
    OpCase("floor", plain(tl.floor), [X], np.floor, WIDE_FLOATS),
    OpCase("ceil", plain(tl.ceil), [X], np.ceil, WIDE_FLOATS),
    OpCase(
        "sigmoid",
        plain(tl.sigmoid),
        [SMALL],
        lambda x: (1 / (1 + np.exp(-x))).astype(x.dtype),
        WIDE_FLOATS,
        **_CLOSE,
    ),
    OpCase(
        "softmax",
        plain(tl.softmax),
        [SMALL],
        lambda x: (np.exp(x - x.max()) / np.exp(x - x.max()).sum()).astype(x.dtype),
        WIDE_FLOATS,
        rtol=2e-6,
    ),
    OpCase(
        "softmax_axis",
        lambda x: tl.softmax(x, axis=-1),
        [Block((8, 32), -8, 8)],
        lambda x: (
            np.exp(x - x.max(1, keepdims=True))
            / np.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True)
        ).astype(x.dtype),
        WIDE_FLOATS,
        rtol=2e-6,
    ),
]
