"""What a row of the table of operations is: its operands and its reference.

A row runs once per dtype in both CPU modes; the two must give the same bits, and those of the
reference: ``rtol`` is 0 unless a comment says why.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
from blockscope.language.core import builtin

FLOATS = ("fp16", "bf16", "fp32", "fp64")
WIDE_FLOATS = ("fp32", "fp64")
FP8 = ("fp8e5", "fp8e4nv", "fp8e4b8", "fp8e5b16")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
NUMBERS = INTEGERS + FLOATS
BOOL = ("int1",)

_NUMPY = {
    "int1": np.bool_,
    "fp16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "fp32": np.float32,
    "fp64": np.float64,
    "fp8e5": ml_dtypes.float8_e5m2,
    "fp8e4nv": ml_dtypes.float8_e4m3fn,
    "fp8e4b8": ml_dtypes.float8_e4m3fnuz,
    "fp8e5b16": ml_dtypes.float8_e5m2fnuz,
}


def numpy_dtype(name: str) -> np.dtype:
    """Return NumPy's dtype of a name such as "fp32"."""
    return np.dtype(_NUMPY.get(name, name))


def dtype_of(array: np.ndarray) -> str:
    """Return the name of a NumPy dtype, "fp32"."""
    for name, kind in _NUMPY.items():
        if array.dtype == np.dtype(kind):
            return name
    return array.dtype.name


@dataclass
class Block:
    """One operand: its shape, its range, and its dtype where it is not that of the row."""

    shape: tuple[int, ...] = (128,)
    low: float | None = None
    high: float | None = None
    dtype: str | None = None
    edges: bool = True  # begin with infinities, NaN, extremes

    def make(self, dtype: str, random: np.random.Generator) -> np.ndarray:
        dtype = self.dtype or dtype
        kind, size = numpy_dtype(dtype), math.prod(self.shape)
        if dtype == "int1":
            return random.integers(0, 2, self.shape).astype(kind)
        if dtype in INTEGERS:
            info = np.iinfo(kind)
            low = info.min if self.low is None else max(int(self.low), info.min)
            high = info.max if self.high is None else min(int(self.high), info.max)
            values = random.integers(low, high, size, kind, endpoint=True)
            if self.low is None and self.edges:
                values[:4] = [info.min, info.max, 0, 1]
            return values.reshape(self.shape)
        if self.low is not None and self.high is not None:
            return random.uniform(self.low, self.high, self.shape).astype(kind)
        values = (random.standard_normal(size) * 4).astype(kind)
        if self.edges and dtype not in FP8:
            edges = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, float(ml_dtypes.finfo(kind).max)]
            values[: len(edges)] = np.array(edges[:size]).astype(kind)
        return values.reshape(self.shape)


@dataclass
class OpCase:
    """``call(*blocks)`` in a kernel against ``reference(*arrays)``; both may give tuples."""

    name: str
    call: Callable[..., Any]
    inputs: list[Block]
    reference: Callable[..., Any]
    dtypes: tuple[str, ...] = NUMBERS
    rtol: float = 0
    note: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        self.call = builtin(self.call) if callable(self.call) else self.call


X = Block()
SMALL = Block(low=-8, high=8)
MATRIX = Block((16, 32))


def plain(call: Callable[..., Any]) -> Callable[..., Any]:
    """A new function, because ``builtin`` marks the one that it gets."""
    return lambda *args: call(*args)


def wrapping(operation: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy with integers modulo 2^n and no complaints."""

    def run(*arrays: np.ndarray) -> Any:
        with np.errstate(all="ignore"):
            return operation(*arrays)

    return run


def true_divide(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        if x.dtype == np.float64:
            return x / y
        return x.astype(np.float32) / y.astype(np.float32)


def widened(x: np.ndarray) -> np.ndarray:
    """What sum, max and min compute small types in (floats: max and min only)."""
    if x.dtype.kind in "fV" or x.dtype == ml_dtypes.bfloat16:
        return x.astype(np.float32) if x.dtype.itemsize < 4 else x
    if x.dtype.itemsize < 4:
        return x.astype(np.int32 if x.dtype.kind == "i" else np.uint32)
    return x
