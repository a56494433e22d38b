"""What an instruction gives, by Python's integers, fractions and NumPy: makers of references."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np

from inline_asm_cases.case import DTYPES


def masked(value: Any, dtype: str) -> Any:
    """Python integers as a type, modulo its size."""
    kind = np.dtype(DTYPES[dtype])
    mask = (1 << 8 * kind.itemsize) - 1
    unsigned = np.dtype(f"u{kind.itemsize}")
    return np.array([int(x) & mask for x in value], unsigned).view(kind)


def ints(dtype: str, f: Callable[..., int]) -> Callable[..., Any]:
    """A function of Python integers, element by element."""
    return lambda *xs: masked([f(*map(int, x)) for x in zip(*xs, strict=True)], dtype)


def wide(f: Callable[..., Any], dtype: str = "f32") -> Callable[..., Any]:
    """A function in fp64, rounded once."""

    def call(*xs: Any) -> Any:
        with np.errstate(all="ignore"):
            return f(*[x.astype(np.float64) for x in xs]).astype(DTYPES[dtype])

    return call


def plain(f: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's own function."""

    def call(*xs: Any) -> Any:
        with np.errstate(all="ignore"):
            return f(*xs)

    return call


def flushed(x: Any) -> Any:
    tiny = np.finfo(np.float32).tiny
    with np.errstate(all="ignore"):
        return np.where(np.abs(x) < tiny, np.copysign(np.float32(0), x), x)


def rounded(x: Fraction, mode: str, mantissa: int, least: int, top: float) -> float:
    """A fraction as a float of so many mantissa bits; ``least`` is the exponent of its smallest
    normal number, ``top`` its largest number."""
    if x == 0:
        return 0.0
    exponent = least
    magnitude = abs(x)
    while magnitude >= Fraction(2) ** (exponent + 1):
        exponent += 1
    unit = Fraction(2) ** (exponent - mantissa)
    down = x // unit
    rest = x / unit - down
    up = {
        "rn": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and down % 2 == 1),
        "rz": x < 0 and rest > 0,
        "rm": False,
        "rp": rest > 0,
    }[mode]
    value = (down + int(up)) * unit
    if abs(value) > Fraction(top):
        away = mode == "rn" or (mode == "rp") == (x > 0) and mode != "rz"
        return float(np.copysign(np.inf if away else top, float(x > 0) - 0.5))
    return float(np.copysign(float(value), float(x > 0) - 0.5))


FORMATS = {
    "f32": (23, -126, float(np.finfo(np.float32).max)),
    "f16": (10, -14, 65504.0),
    "bf16": (7, -126, float(ml_dtypes.finfo(ml_dtypes.bfloat16).max)),
}


def exact(f: Callable[..., Fraction], mode: str, dtype: str = "f32") -> Callable[..., Any]:
    """A function of fractions, rounded once; what is not finite, and zeros, by NumPy."""

    def one(xs: tuple[Any, ...], otherwise: float) -> float:
        wide_xs = [float(x) for x in xs]
        if not np.isfinite(wide_xs).all():
            return otherwise
        try:
            value = f(*[Fraction(x) for x in wide_xs])
        except ZeroDivisionError:
            return otherwise
        return rounded(value, mode, *FORMATS[dtype]) if value != 0 else otherwise

    def call(*xs: Any) -> Any:
        with np.errstate(all="ignore"):
            otherwise = np.asarray(f(*[x.astype(np.float64) for x in xs]))  # type: ignore[arg-type]
            if mode == "rm":  # x - x is -0 then, as (+0) + (-0) is
                zero = (otherwise == 0) & ~np.signbit(otherwise)
                sums = [np.signbit(x) for x in xs]
                otherwise = np.where(
                    zero & np.logical_or.reduce(sums) if f in _SUMS else False, -0.0, otherwise
                )
        return np.array(
            [one(x, o) for x, o in zip(zip(*xs, strict=True), otherwise, strict=True)]
        ).astype(DTYPES[dtype])

    return call


def add(a: Any, b: Any) -> Any:
    return a + b


def sub(a: Any, b: Any) -> Any:
    return a - b


def mul(a: Any, b: Any) -> Any:
    return a * b


def fma(a: Any, b: Any, c: Any) -> Any:
    return a * b + c


def div(a: Any, b: Any) -> Any:
    return a / b


_SUMS = (add,)


def halves(x: Any) -> tuple[Any, Any]:
    return (x & 0xFFFF).astype(np.uint16), (x >> 16).astype(np.uint16)


def saturated(x: Any) -> Any:
    return np.where(x > 0, np.fmin(x, np.float32(1)), np.float32(0)).astype(np.float32)


def words(high: Any, low: Any) -> Any:
    """Two arrays of 16-bit floats in one of words; NaNs as PTX has them."""

    def bits(x: Any) -> Any:
        nan = np.isnan(x.astype(np.float32))
        return np.where(nan, 0x7FFF, x.view(np.uint16)).astype(np.uint32)

    return bits(high) << np.uint32(16) | bits(low)
