"""Element types: Triton's rules of promotion, and arithmetic and conversions of docs/numerics.md
in NumPy. Written from the documents, not from core/: what the evaluators are held to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

Array = Any


@dataclass(frozen=True)
class DType:
    """``family``: b (int1), i, u, f, 8 (fp8)."""

    name: str
    family: str
    bits: int
    numpy: Any
    torch: str

    def __str__(self) -> str:
        return f"tl.{self.name}"

    @property
    def is_integer(self) -> bool:
        return self.family in "biu"

    @property
    def is_float(self) -> bool:
        return self.family in "f8"

    @property
    def itemsize(self) -> int:
        return max(1, self.bits // 8)


_ROWS = [
    ("int1", "b", 1, np.bool_, "bool"),
    *((f"int{n}", "i", n, f"int{n}", f"int{n}") for n in (8, 16, 32, 64)),
    *((f"uint{n}", "u", n, f"uint{n}", f"uint{n}") for n in (8, 16, 32, 64)),
    ("float16", "f", 16, np.float16, "float16"),
    ("bfloat16", "f", 16, ml_dtypes.bfloat16, "bfloat16"),
    ("float32", "f", 32, np.float32, "float32"),
    ("float64", "f", 64, np.float64, "float64"),
    ("float8e5", "8", 8, ml_dtypes.float8_e5m2, "float8_e5m2"),
    ("float8e4nv", "8", 8, ml_dtypes.float8_e4m3fn, "float8_e4m3fn"),
]
DTYPES = {row[0]: DType(row[0], row[1], row[2], np.dtype(row[3]), row[4]) for row in _ROWS}
BOOL, I32, I64, U32 = (DTYPES[name] for name in ("int1", "int32", "int64", "uint32"))
F16, BF16, F32, F64 = (DTYPES[name] for name in ("float16", "bfloat16", "float32", "float64"))
INTEGERS = [d for d in DTYPES.values() if d.family in "iu"]
FLOATS = [F16, BF16, F32, F64]
FP8 = [d for d in DTYPES.values() if d.family == "8"]


# -- promotion ------------------------------------------------------------------------------------


def promoted(a: DType, b: DType, *, divides: bool = False) -> DType | None:
    """What two tensors are computed in; None where Triton refuses them or fp8 takes part."""
    if "8" in (a.family, b.family):
        return None
    if F64 in (a, b):
        return F64
    if F32 in (a, b):
        return F32
    if F16 in (a, b):
        return F32 if divides else F16
    if BF16 in (a, b):
        return BF16 if a == b and not divides else F32
    if divides and a.family != b.family:
        return None
    a_unsigned, b_unsigned = a.family in "bu", b.family in "bu"
    if a_unsigned == b_unsigned:
        return a if a.bits > b.bits else b
    if a_unsigned:
        return a if a.bits >= b.bits else b
    return b if b.bits >= a.bits else a


def pairs(result: DType, *, divides: bool = False) -> list[tuple[DType, DType]]:
    """The operand types that are computed in ``result``."""
    return [
        (a, b)
        for a in DTYPES.values()
        for b in DTYPES.values()
        if promoted(a, b, divides=divides) == result
    ]


# -- conversions ----------------------------------------------------------------------------------


def _to_odd(low: Array, error: Array) -> Array:
    """fp64 numbers that are off by ``error``, rounded to odd: the next rounding is right."""
    bits = low.view(np.int64)
    step = np.where((error > 0) == (low > 0), 1, -1)
    inexact = (error != 0) & np.isfinite(low) & (bits & 1 == 0)
    zero = inexact & (low == 0)
    odd = np.where(inexact & ~zero, bits + step, bits).view(np.float64)
    return np.where(zero, np.copysign(5e-324, error), odd)


def _narrow(x: Array) -> Array:
    """fp64 as fp32 that is rounded to odd, for a rounding to 16 or 8 bits that follows."""
    low = x.astype(np.float32)
    bits = low.view(np.int32)
    too_far = np.abs(low.astype(np.float64)) > np.abs(x)
    bits = np.where(too_far, bits - 1, bits)  # toward zero, from infinity too
    inexact = bits.view(np.float32).astype(np.float64) != x
    return np.where(inexact & ~np.isnan(x), bits | 1, bits).astype(np.int32).view(np.float32)


def _float_to_int(x: Array, to: DType, from_64: bool) -> Array:
    if to.bits == 8:
        wide = _float_to_int(x, DTYPES["int16" if to.family == "i" else "uint16"], from_64)
        return wide.astype(to.numpy)
    info = np.iinfo(to.numpy)
    wide = np.trunc(x.astype(np.float64))
    inside = (wide >= float(info.min)) & (wide < float(info.max) + (to.bits < 64))
    # typed: NumPy 2 takes no Python integer that does not fit into a C long
    result = np.where(wide < 0, to.numpy.type(info.min), to.numpy.type(info.max))
    result = np.where(inside, np.where(inside, wide, 0).astype(to.numpy), result)
    top = np.array(1 << (to.bits - 1), np.uint64).astype(f"u{to.itemsize}").view(to.numpy)
    nan = top if to.bits == 64 or from_64 else to.numpy.type(0)
    return np.where(np.isnan(x), nan, result).astype(to.numpy)


def convert(x: Array, to: DType) -> Array:
    """``x.to(dtype)``: docs/numerics.md, Conversions."""
    x = np.asarray(x)
    if to.family == "b":
        return x != 0
    if x.dtype == to.numpy:
        return x
    is_integer = x.dtype.kind in "biu"
    if to.family in "iu":
        if is_integer:
            return x.astype(to.numpy)
        return _float_to_int(x.astype(np.float64), to, x.dtype == np.float64)
    if is_integer and x.dtype.itemsize == 8 and to != F64 and to != F32:
        odd = (x >> 11 << 11) | ((x & 2047) != 0).astype(x.dtype) << 11
        x = np.where((x >> 53 == 0) | (x >> 53 == -1), x, odd) if x.dtype.kind == "i" else (
            np.where(x >> 53 == 0, x, odd))  # fmt: skip
        x = x.astype(np.float64)
    elif is_integer:
        return convert(x.astype(to.numpy if to in (F32, F64) else np.float64), to)
    if to.family == "8":
        limit = float(ml_dtypes.finfo(to.numpy).max)
        x = np.clip(x.astype(np.float64), -limit, limit)
    if x.dtype == np.float64 and to != F32 and to != F64:
        x = _narrow(x)
    return x.astype(to.numpy)


# -- arithmetic -----------------------------------------------------------------------------------


def computed(function: Callable[..., Array], dtype: DType, *operands: Array) -> Array:
    """A function of operands that are cast to ``dtype``; 16-bit floats are computed in fp32."""
    operands = tuple(convert(operand, dtype) for operand in operands)
    if dtype.is_float and dtype.bits < 32:
        return convert(function(*(operand.astype(np.float32) for operand in operands)), dtype)
    return np.asarray(function(*operands))


def fma32(a: Array, b: Array, c: Array) -> Array:
    """a * b + c of fp32, rounded once."""
    product, c = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    total = product + c
    back = total - product
    error = (product - (total - back)) + (c - back)
    return _to_odd(total, np.where(np.isfinite(total), error, 0)).astype(np.float32)


def quotient(a: Array, b: Array) -> Array:
    """Toward zero; by 0 it is 0, and the smallest integer by -1 is itself."""
    return _divided(a, b)[0]


def remainder(a: Array, b: Array) -> Array:
    return _divided(a, b)[1]


def _divided(a: Array, b: Array) -> tuple[Array, Array]:
    if a.dtype.kind != "i":
        safe = np.where(b == 0, b + 1, b)
        return np.where(b == 0, 0, a // safe).astype(a.dtype), np.where(
            b == 0, 0, a % safe).astype(a.dtype)  # fmt: skip
    unsigned = f"u{a.dtype.itemsize}"
    size_a, size_b = (np.where(x < 0, -x, x).view(unsigned) for x in (a, b))
    size_b = np.where(b == 0, 1, size_b).astype(unsigned)
    whole = (size_a // size_b).view(a.dtype)
    rest = (size_a % size_b).view(a.dtype)
    whole = np.where((a < 0) != (b < 0), -whole, whole)
    rest = np.where(a < 0, -rest, rest)
    return np.where(b == 0, 0, whole).astype(a.dtype), np.where(b == 0, 0, rest).astype(a.dtype)


def shifted(a: Array, b: Array, left: bool, dtype: DType, signed: bool) -> Array:
    """Amounts of the width and more give 0, or the sign."""
    bits = dtype.bits
    amount = convert(b, dtype).view(f"u{dtype.itemsize}")
    if left:
        a = convert(a, dtype)
        result = a << np.minimum(amount, bits - 1).astype(a.dtype)
        return np.where(amount >= bits, 0, result).astype(a.dtype)
    a = convert(a, dtype).view(f"{'i' if signed else 'u'}{dtype.itemsize}")
    result = a >> np.minimum(amount, bits - 1).astype(a.dtype)
    if not signed:
        result = np.where(amount >= bits, 0, result).astype(a.dtype)
    return result.view(dtype.numpy)
