"""Registers of PTX as numbers of its types, and the roundings that NumPy does not have."""

from __future__ import annotations

import functools
import re

import ml_dtypes
import numpy as np

FLOATS = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
}


@functools.cache
def bits_of(kind: str) -> int:
    if kind.endswith("x2"):
        return 2 * bits_of(kind[:-2])
    return 8 if kind == "pred" else int(re.sub(r"\D", "", kind))


def typed(values: np.ndarray, kind: str) -> np.ndarray:
    """Raw 64-bit values as numbers of a PTX type; pairs of floats are rows of two."""
    bits = bits_of(kind)
    raw = values.astype(f"u{bits // 8}")
    if kind.endswith("x2"):
        element = FLOATS.get(kind[:-2], np.int16 if kind[0] == "s" else np.uint16)
        return raw.view(element).reshape(-1, 2)
    if kind in FLOATS:
        return raw.view(FLOATS[kind])
    return raw.view(f"i{bits // 8}") if kind.startswith("s") else raw


def raw(values: np.ndarray) -> np.ndarray:
    """Numbers as raw 64-bit values, narrower ones with zeros above."""
    values = np.ascontiguousarray(values)
    if values.dtype == bool:
        return values.astype(np.uint64)
    if values.ndim == 2:
        return values.view(f"u{2 * values.dtype.itemsize}")[:, 0].astype(np.uint64)
    return values.view(f"u{values.dtype.itemsize}").astype(np.uint64)


def whole(values: np.ndarray, target: str, source: str) -> np.ndarray:
    """Floats as integers: the nearest limit where they are too large; a NaN is 0, or the top bit
    alone where 64 bits take part."""
    kind = np.dtype(("i" if target[0] == "s" else "u") + str(bits_of(target) // 8))
    limits, values = np.iinfo(kind), values.astype(np.float64)
    fits = (values >= float(limits.min)) & (values < float(limits.max) + (kind.itemsize < 8))
    result = np.where(values < 0, limits.min, limits.max).astype(kind)
    result = np.where(fits, np.where(fits, values, 0).astype(kind), result)
    is_wide = kind.itemsize == 8 or source == "f64"
    top = np.array(1 << (8 * kind.itemsize - 1), f"u{kind.itemsize}").view(kind)
    return np.where(np.isnan(values), top if is_wide else kind.type(0), result).astype(kind)


def to_odd(values: np.ndarray) -> np.ndarray:
    """fp32 of integers or fp64, whose rounding to fewer bits is that of the values: the last bit is
    1 where there is none for the rest of a value."""
    exact = values.astype(object)
    nearest = values.astype(np.float32)
    with np.errstate(all="ignore"):
        # Python compares integers and floats exactly.
        away = np.array([abs(float(f)) > abs(x) for f, x in zip(nearest, exact)], bool)
        cut = np.where(away, np.nextafter(nearest, np.float32(0)), nearest).astype(np.float32)
    inexact = np.array([float(f) != x and x == x for f, x in zip(cut, exact)], bool)
    return (cut.view(np.uint32) | inexact.astype(np.uint32)).view(np.float32)


def toward_zero(exact: np.ndarray, rounded: np.ndarray) -> np.ndarray:
    """Floats that were rounded to nearest, rounded toward zero instead."""
    is_long = exact.dtype.kind in "iu" or exact.dtype == np.longdouble
    wide = np.longdouble if is_long else np.float64
    bits = rounded.view(f"u{rounded.dtype.itemsize}")
    is_beyond = np.abs(rounded.astype(wide)) > np.abs(exact.astype(wide))
    return (bits - is_beyond.astype(bits.dtype)).view(rounded.dtype)


def fused(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """a * b + c in fp64, rounded to odd where operands are narrower, so that the next rounding is
    right."""
    product, c = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    total = product + c
    back = total - product
    error = (product - (total - back)) + (c - back)
    bits = total.view(np.int64)
    odd = bits + np.where((error > 0) == (total > 0), 1, -1)
    is_inexact = (error != 0) & np.isfinite(total) & (total != 0) & (bits & 1 == 0)
    return np.where(is_inexact & (a.dtype != np.float64), odd, bits).view(np.float64)
