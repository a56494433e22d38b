"""Instructions of inline assembly as rows: the text, its operands, and what NumPy gives for it.

`test_inline_asm.py` runs each row in both CPU modes and has ptxas assemble it; `tests/gpu` runs it
on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np

LETTERS = {1: "r", 2: "h", 4: "r", 8: "l"}
DTYPES: dict[str, Any] = {
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    "s8": np.int8, "s16": np.int16, "s32": np.int32, "s64": np.int64,
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
}  # fmt: skip
COUNT = 512


@dataclass(frozen=True)
class AsmCase:
    """A row. ``args`` and ``result`` are types of PTX; the constraints follow from them.

    ``reference`` takes the arrays of the arguments. ``ulps``: how far a result may be from it on
    the CPU, ``gpu_ulps`` on a GPU, in units of fp32 (None: only the same to a few percent).
    ``arch``: the first GPU that has the instruction; "" for those that all have.
    """

    name: str
    text: str
    args: tuple[str, ...]
    result: str
    reference: Callable[..., Any]
    ulps: float = 0
    gpu_ulps: float | None = 0
    arch: str = ""

    @property
    def constraints(self) -> str:
        def letter(dtype: str) -> str:
            return LETTERS[np.dtype(DTYPES[dtype]).itemsize]

        return ",".join(["=" + letter(self.result), *(letter(arg) for arg in self.args)])


def _floats(dtype: str) -> list[float]:
    info: Any = ml_dtypes.finfo(DTYPES[dtype])
    tiny, top = float(info.tiny), float(info.max)
    return [
        0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 6.0, 448.0, 449.0, 464.0, 465.0,
        -500.0, 57344.0, 61440.0, 65504.0, 65519.0, 65520.0, 1e-7, -1e-7, 1e-3, 0.1, 255.5, 300.0,
        -129.0, 2147483648.0, 4294967296.0, -2147483649.0, 1.0 + 2.0**-11, 1.0 + 3 * 2.0**-11,
        1.0 + 2.0**-12, 1.0 + 2.0**-8, 1.0 + 3 * 2.0**-8, tiny, -tiny, tiny / 2, tiny / 4,
        top, -top, np.inf, -np.inf, np.nan, 0.25, 0.75, 1.25, 1.75, 5.0, 7.0, 100.0,
    ]  # fmt: skip


def values(dtype: str, seed: int) -> Any:
    """An argument: the numbers at which instructions differ, then any bits; another order for each
    argument, so that all kinds of numbers meet."""
    kind = np.dtype(DTYPES[dtype])
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 256, COUNT * kind.itemsize, dtype=np.uint8).view(kind)
    if dtype in ("f16", "bf16", "f32", "f64"):
        with np.errstate(all="ignore"):
            special = np.array(_floats(dtype), np.float64).astype(kind)
        bits[: len(special)] = special
        small = rng.normal(0, 4, COUNT // 2).astype(kind)
        bits[COUNT // 2 :] = small
    else:
        info = np.iinfo(kind)
        near = [0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 100, 255, 256, 0x80, 0x8000]
        special = [x for x in near if x <= info.max] + [info.max, info.min, info.max - 1]
        bits[: len(special)] = special
    return np.roll(bits, 37 * seed)


def arguments(case: AsmCase) -> list[Any]:
    return [values(arg, seed) for seed, arg in enumerate(case.args)]


def same(case: AsmCase, found: Any, expected: Any, ulps: float | None) -> bool:
    """Whether results agree: bit for bit, all NaNs being equal, or within ``ulps``."""
    if case.result[0] in "us":
        return bool((found == expected).all())
    x, y = found.astype(np.float64), expected.astype(np.float64)
    nan = np.isnan(x) & np.isnan(y)
    if ulps == 0:
        return bool((nan | ((x == y) & (np.signbit(x) == np.signbit(y)))).all())
    with np.errstate(all="ignore"):
        unit = np.abs(np.spacing(expected.astype(np.float32)).astype(np.float64))
        allowed = 0.05 * np.abs(y) + 1e-3 if ulps is None else ulps * unit
        return bool((nan | (x == y) | (np.abs(x - y) <= allowed)).all())


# -- references -----------------------------------------------------------------------------------


def _masked(value: Any, dtype: str) -> Any:
    """Python integers as a type, modulo its size."""
    kind = np.dtype(DTYPES[dtype])
    mask = (1 << 8 * kind.itemsize) - 1
    unsigned = np.dtype(f"u{kind.itemsize}")
    return np.array([int(x) & mask for x in value], unsigned).view(kind)


def ints(dtype: str, f: Callable[..., int]) -> Callable[..., Any]:
    """A function of Python integers, element by element."""
    return lambda *xs: _masked([f(*map(int, x)) for x in zip(*xs, strict=True)], dtype)


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


_FORMATS = {
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
        return rounded(value, mode, *_FORMATS[dtype]) if value != 0 else otherwise

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


def _add(a: Any, b: Any) -> Any:
    return a + b


def _sub(a: Any, b: Any) -> Any:
    return a - b


def _mul(a: Any, b: Any) -> Any:
    return a * b


def _fma(a: Any, b: Any, c: Any) -> Any:
    return a * b + c


def _div(a: Any, b: Any) -> Any:
    return a / b


_SUMS = (_add,)


def lop3(a: int, b: int, c: int, table: int) -> int:
    return sum(
        (table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1) & 1) << i for i in range(32)
    )


def prmt(a: int, b: int, selector: int) -> int:
    both = [(b << 32 | a) >> 8 * i & 255 for i in range(8)]

    def pick(nibble: int) -> int:
        byte = both[nibble & 7]
        return (255 if byte >> 7 else 0) if nibble & 8 else byte

    return sum(pick(selector >> 4 * i & 15) << 8 * i for i in range(4))


_PERMUTED = {  # what each mode of prmt takes, by the two low bits of its selector
    "f4e": (0x3210, 0x4321, 0x5432, 0x6543),
    "b4e": (0x5670, 0x6701, 0x7012, 0x0123),
    "rc8": (0x0000, 0x1111, 0x2222, 0x3333),
    "ecl": (0x3210, 0x3211, 0x3222, 0x3333),
    "ecr": (0x0000, 0x1110, 0x2210, 0x3210),
    "rc16": (0x1010, 0x3232, 0x1010, 0x3232),
}


def bfe(bits: int, signed: bool) -> Callable[..., int]:
    def call(a: int, position: int, size: int) -> int:
        position, size = _bit_count(position, bits), _bit_count(size, bits)
        if size == 0:
            return 0
        a &= (1 << bits) - 1
        top = min(position + size - 1, bits - 1)
        sign = signed and a >> top & 1
        return sum(
            (a >> position + i & 1 if i < size and position + i < bits else int(bool(sign))) << i
            for i in range(bits)
        )

    return call


def _bit_count(operand: int, bits: int) -> int:
    """As an H200 takes it; PTX says that all widths look at 8 bits."""
    return min(operand, 64) if bits == 64 else operand & 255


def bfi(bits: int) -> Callable[..., int]:
    def call(a: int, b: int, position: int, size: int) -> int:
        position, size = _bit_count(position, bits), _bit_count(size, bits)
        for i in range(size):
            if position + i < bits:
                b = b & ~(1 << position + i) | (a >> i & 1) << position + i
        return b

    return call


def bfind(bits: int, signed: bool) -> Callable[[int], int]:
    def call(a: int) -> int:
        if signed and a < 0:
            a = ~a
        return a.bit_length() - 1

    return call


def halves(x: Any) -> tuple[Any, Any]:
    return (x & 0xFFFF).astype(np.uint16), (x >> 16).astype(np.uint16)


def packed(f: Callable[..., Any], dtype: str) -> Callable[..., Any]:
    """A function of 16-bit floats on both halves of registers."""

    def call(*xs: Any) -> Any:
        parts = []
        for i in range(2):
            inputs = [halves(x)[i].view(DTYPES[dtype]) for x in xs]
            with np.errstate(all="ignore"):
                result = np.asarray(f(*inputs)).astype(DTYPES[dtype])
            bits = np.where(np.isnan(result.astype(np.float32)), 0x7FFF, result.view(np.uint16))
            parts.append(bits.astype(np.uint32))
        return parts[0] | parts[1] << 16

    return call


def through(dtype: Any, top: float | None = None, relu: bool = False) -> Callable[[Any], Any]:
    """fp32 as the bits of a narrow float, cut to ``top``; NaN is positive."""

    def call(x: Any) -> Any:
        with np.errstate(all="ignore"):
            x = x.astype(np.float32)
            if relu:
                x = np.where(x <= 0, np.float32(0), x)
            if top is not None:
                x = np.where(np.isnan(x), x, np.clip(x, -top, top))
            return np.where(np.isnan(x), np.float32(np.nan), x).astype(dtype).view(np.uint8)

    return call


def _two(f: Callable[[Any], Any], bits: int = 8) -> Callable[..., Any]:
    """The first argument goes to the upper bits."""
    return lambda a, b: (f(a).astype(np.uint16) << bits | f(b)).astype(np.uint16)


def _mini(dtype: Any) -> Callable[[Any], Any]:
    """Formats without NaN: it is their largest number."""
    top = float(ml_dtypes.finfo(dtype).max)

    def call(x: Any) -> Any:
        x = np.where(np.isnan(x), np.float32(top), x.astype(np.float32))
        return np.clip(x, -top, top).astype(dtype).view(np.uint8)

    return call


def _scale(up: bool) -> Callable[[Any], Any]:
    def one(x: float) -> int:
        if np.isnan(x):
            return 255
        if np.isinf(x):
            return 254
        if x == 0:
            return 0
        fraction, exponent = np.frexp(abs(x))
        return int(np.clip(exponent - 1 + (up and fraction > 0.5) + 127, 0, 254))

    return lambda x: np.array([one(float(v)) for v in x], np.uint8)


def _to_int(dtype: str, rounding: Callable[[Any], Any], nan: int = 0) -> Callable[[Any], Any]:
    info = np.iinfo(DTYPES[dtype])

    def one(x: float) -> int:
        if np.isnan(x):
            return nan
        if np.isinf(x):
            return info.max if x > 0 else info.min
        return min(max(int(rounding(x)), info.min), info.max)

    return lambda x: _masked([one(float(v)) for v in x], dtype)


def _stochastic(a: Any, b: Any, random: Any) -> Any:
    """cvt.rs.f16x2.f32: 13 random bits are added to those that are cut off."""

    def one(x: float, bits: int) -> int:
        if not np.isfinite(x) or x == 0:
            with np.errstate(all="ignore"):
                value = np.float16(np.float32(x))
            return 0x7FFF if np.isnan(value) else int(value.view(np.uint16))
        exponent = max(int(np.frexp(abs(x))[1]) - 1, -14)
        unit = Fraction(2) ** (exponent - 10)
        raised = abs(Fraction(x)) + Fraction(bits & 0x1FFF, 8192) * unit
        value = rounded(raised, "rz", 10, -14, 65504.0)
        return int(np.float16(np.copysign(value, x)).view(np.uint16))

    pairs = zip(a, b, random, strict=True)
    return np.array(
        [one(float(x), int(r) >> 16) << 16 | one(float(y), int(r)) for x, y, r in pairs], np.uint32
    )


def _tf32(add: Callable[[Any], Any], nan: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def call(x: Any) -> Any:
        bits = x.view(np.uint32)
        rounded = np.where(np.isinf(x), bits, (bits + add(bits)) & 0xFFFFE000)
        return np.where(np.isnan(x), nan(bits), rounded).astype(np.uint32)

    return call


def _extreme(f: Any) -> Callable[..., Any]:
    """fmin and fmax with -0 below +0."""

    def call(a: Any, b: Any) -> Any:
        zeros = (a == 0) & (b == 0)
        sign = np.signbit(a) | np.signbit(b) if f is np.fmin else np.signbit(a) & np.signbit(b)
        signed = np.where(sign, -0.0, 0.0).astype(a.dtype)
        return np.where(zeros, signed, f(a, b)).astype(a.dtype)

    return call


# -- rows -----------------------------------------------------------------------------------------

_BITS = {"u16": 16, "s16": 16, "u32": 32, "s32": 32, "u64": 64, "s64": 64}


def _c_div(a: int, b: int) -> int:
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _integers() -> list[AsmCase]:
    rows = []
    for t, bits in _BITS.items():
        two = (t, t)
        for name, f in (
            ("add", lambda a, b: a + b), ("sub", lambda a, b: a - b), ("min", min), ("max", max)
        ):  # fmt: skip
            rows.append(AsmCase(f"{name}.{t}", f"{name}.{t} $0, $1, $2;", two, t, ints(t, f)))
        divisor = f"{{.reg .{t} d; or.b{bits} d, $2, 1; OP.{t} $0, $1, d;}}"
        rows += [
            AsmCase(f"mul.lo.{t}", f"mul.lo.{t} $0, $1, $2;", two, t, ints(t, lambda a, b: a * b)),
            AsmCase(
                f"mul.hi.{t}", f"mul.hi.{t} $0, $1, $2;", two, t,
                ints(t, lambda a, b, s=bits: a * b >> s),
            ),
            AsmCase(
                f"mad.lo.{t}", f"mad.lo.{t} $0, $1, $2, $3;", (t, t, t), t,
                ints(t, lambda a, b, c: a * b + c),
            ),
            AsmCase(
                f"mad.hi.{t}", f"mad.hi.{t} $0, $1, $2, $3;", (t, t, t), t,
                ints(t, lambda a, b, c, s=bits: (a * b >> s) + c),
            ),
            AsmCase(
                f"sad.{t}", f"sad.{t} $0, $1, $2, $3;", (t, t, t), t,
                ints(t, lambda a, b, c: abs(a - b) + c),
            ),
            AsmCase(
                f"div.{t}", divisor.replace("OP", "div"), two, t,
                ints(t, lambda a, b: _c_div(a, b | 1)),
            ),
            AsmCase(
                f"rem.{t}", divisor.replace("OP", "rem"), two, t,
                ints(t, lambda a, b: a - (b | 1) * _c_div(a, b | 1)),
            ),
        ]  # fmt: skip
    for t, to in (("u16", "u32"), ("s16", "s32"), ("u32", "u64"), ("s32", "s64")):
        rows += [
            AsmCase(
                f"mul.wide.{t}", f"mul.wide.{t} $0, $1, $2;", (t, t), to,
                ints(to, lambda a, b: a * b),
            ),
            AsmCase(
                f"mad.wide.{t}", f"mad.wide.{t} $0, $1, $2, $3;", (t, t, to), to,
                ints(to, lambda a, b, c: a * b + c),
            ),
        ]  # fmt: skip
    for t in ("s16", "s32", "s64"):
        rows += [
            AsmCase(f"abs.{t}", f"abs.{t} $0, $1;", (t,), t, ints(t, abs)),
            AsmCase(f"neg.{t}", f"neg.{t} $0, $1;", (t,), t, ints(t, lambda a: -a)),
        ]
    low, high = -(2**31), 2**31 - 1
    rows += [
        AsmCase(
            "add.sat.s32", "add.sat.s32 $0, $1, $2;", ("s32", "s32"), "s32",
            ints("s32", lambda a, b: min(max(a + b, low), high)),
        ),
        AsmCase(
            "sub.sat.s32", "sub.sat.s32 $0, $1, $2;", ("s32", "s32"), "s32",
            ints("s32", lambda a, b: min(max(a - b, low), high)),
        ),
        AsmCase(
            "mad.hi.sat.s32", "mad.hi.sat.s32 $0, $1, $2, $3;", ("s32", "s32", "s32"), "s32",
            ints("s32", lambda a, b, c: min(max((a * b >> 32) + c, low), high)),
        ),
        AsmCase(
            "mul24.lo.u32", "mul24.lo.u32 $0, $1, $2;", ("u32", "u32"), "u32",
            ints("u32", lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF)),
        ),
        AsmCase(
            "mul24.hi.u32", "mul24.hi.u32 $0, $1, $2;", ("u32", "u32"), "u32",
            ints("u32", lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF) >> 16),
        ),
        AsmCase(
            "mad24.lo.s32", "mad24.lo.s32 $0, $1, $2, $3;", ("s32", "s32", "s32"), "s32",
            ints("s32", lambda a, b, c: _low24(a) * _low24(b) + c),
        ),
        AsmCase(
            "dp4a.u32.s32", "dp4a.u32.s32 $0, $1, $2, $3;", ("u32", "u32", "s32"), "s32",
            ints("s32", lambda a, b, c: c + sum(
                _part(a, 8, i, False) * _part(b, 8, i, True) for i in range(4))),
        ),
        AsmCase(
            "dp4a.s32.s32", "dp4a.s32.s32 $0, $1, $2, $3;", ("u32", "u32", "s32"), "s32",
            ints("s32", lambda a, b, c: c + sum(
                _part(a, 8, i, True) * _part(b, 8, i, True) for i in range(4))),
        ),
        AsmCase(
            "dp2a.hi.s32.u32", "dp2a.hi.s32.u32 $0, $1, $2, $3;", ("u32", "u32", "s32"), "s32",
            ints("s32", lambda a, b, c: c + sum(
                _part(a, 16, i, True) * _part(b, 8, i + 2, False) for i in range(2))),
        ),
        AsmCase(
            "min.relu.s32", "min.relu.s32 $0, $1, $2;", ("s32", "s32"), "s32",
            ints("s32", lambda a, b: max(min(a, b), 0)), arch="sm_90a",
        ),
        AsmCase(
            "max.s16x2", "max.s16x2 $0, $1, $2;", ("u32", "u32"), "u32",
            ints("u32", lambda a, b: _both(a, b, max)), arch="sm_90a",
        ),
        AsmCase(
            "add.u16x2", "add.u16x2 $0, $1, $2;", ("u32", "u32"), "u32",
            ints("u32", lambda a, b: _both(a, b, _add)), arch="sm_90a",
        ),
    ]  # fmt: skip
    return rows


def _low24(x: int) -> int:
    x &= 0xFFFFFF
    return x - (1 << 24) if x >> 23 else x


def _part(word: int, bits: int, index: int, signed: bool) -> int:
    value = word >> bits * index & (1 << bits) - 1
    return value - (1 << bits) if signed and value >> bits - 1 else value


def _both(a: int, b: int, f: Callable[[int, int], int]) -> int:
    return sum(
        (f(_part(a, 16, i, True), _part(b, 16, i, True)) & 0xFFFF) << 16 * i for i in range(2)
    )


def _bit_rows() -> list[AsmCase]:
    rows = []
    for bits in (16, 32, 64):
        t = f"u{bits}"
        full = (1 << bits) - 1
        for name, f in (
            ("and", lambda a, b: a & b), ("or", lambda a, b: a | b), ("xor", lambda a, b: a ^ b)
        ):  # fmt: skip
            text = f"{name}.b{bits} $0, $1, $2;"
            rows.append(AsmCase(f"{name}.b{bits}", text, (t, t), t, ints(t, f)))
        rows += [
            AsmCase(f"not.b{bits}", f"not.b{bits} $0, $1;", (t,), t, ints(t, lambda a: ~a)),
            AsmCase(f"cnot.b{bits}", f"cnot.b{bits} $0, $1;", (t,), t, ints(t, lambda a: a == 0)),
            AsmCase(
                f"shl.b{bits}", f"shl.b{bits} $0, $1, $2;", (t, "u32"), t,
                ints(t, lambda a, n, w=bits: a << n if n < w else 0),
            ),
            AsmCase(
                f"shr.u{bits}", f"shr.u{bits} $0, $1, $2;", (t, "u32"), t,
                ints(t, lambda a, n: a >> n),
            ),
            AsmCase(
                f"shr.s{bits}", f"shr.s{bits} $0, $1, $2;", (f"s{bits}", "u32"), f"s{bits}",
                ints(f"s{bits}", lambda a, n: a >> n),
            ),
        ]  # fmt: skip
        if bits == 16:
            continue
        rows += [
            AsmCase(
                f"bfe.u{bits}", f"bfe.u{bits} $0, $1, $2, $3;", (t, "u32", "u32"), t,
                ints(t, bfe(bits, False)),
            ),
            AsmCase(
                f"bfe.s{bits}", f"bfe.s{bits} $0, $1, $2, $3;", (f"s{bits}", "u32", "u32"), t,
                ints(t, bfe(bits, True)),
            ),
            AsmCase(
                f"bfi.b{bits}", f"bfi.b{bits} $0, $1, $2, $3, $4;", (t, t, "u32", "u32"), t,
                ints(t, bfi(bits)),
            ),
            AsmCase(
                f"bfind.u{bits}", f"bfind.u{bits} $0, $1;", (t,), "u32",
                ints("u32", bfind(bits, False)),
            ),
            AsmCase(
                f"bfind.s{bits}", f"bfind.s{bits} $0, $1;", (f"s{bits}",), "u32",
                ints("u32", bfind(bits, True)),
            ),
            AsmCase(
                f"bfind.shiftamt.u{bits}", f"bfind.shiftamt.u{bits} $0, $1;", (t,), "u32",
                ints("u32", lambda a, w=bits: w - a.bit_length() if a else -1),
            ),
            AsmCase(
                f"popc.b{bits}", f"popc.b{bits} $0, $1;", (t,), "u32",
                ints("u32", lambda a: a.bit_count()),
            ),
            AsmCase(
                f"clz.b{bits}", f"clz.b{bits} $0, $1;", (t,), "u32",
                ints("u32", lambda a, w=bits: w - a.bit_length()),
            ),
            AsmCase(
                f"brev.b{bits}", f"brev.b{bits} $0, $1;", (t,), t,
                ints(t, lambda a, w=bits: int(format(a, f"0{w}b")[::-1], 2)),
            ),
        ]  # fmt: skip
        assert full
    for table in (0xF8, 0xEA, 0x96, 0x1B):
        rows.append(
            AsmCase(
                f"lop3.{table:#x}", f"lop3.b32 $0, $1, $2, $3, {table:#x};", ("u32",) * 3, "u32",
                ints("u32", lambda a, b, c, t=table: lop3(a, b, c, t)),
            )
        )  # fmt: skip
    rows.append(AsmCase("prmt", "prmt.b32 $0, $1, $2, $3;", ("u32",) * 3, "u32", ints("u32", prmt)))
    for mode, selectors in _PERMUTED.items():
        rows.append(
            AsmCase(
                f"prmt.{mode}", f"prmt.b32.{mode} $0, $1, $2, $3;", ("u32",) * 3, "u32",
                ints("u32", lambda a, b, c, s=selectors: prmt(a, b, s[c & 3])),
            )
        )  # fmt: skip
    for direction in ("l", "r"):
        for mode in ("wrap", "clamp"):

            def funnel(a: int, b: int, c: int, direction: str = direction, mode: str = mode) -> int:
                n = c & 31 if mode == "wrap" else min(c, 32)
                both = b << 32 | a
                return both << n >> 32 if direction == "l" else both >> n

            name = f"shf.{direction}.{mode}.b32"
            rows.append(
                AsmCase(name, f"{name} $0, $1, $2, $3;", ("u32",) * 3, "u32", ints("u32", funnel))
            )
    rows += [
        AsmCase(
            "szext.clamp.s32", "szext.clamp.s32 $0, $1, $2;", ("s32", "u32"), "s32",
            ints("s32", lambda a, n: _sign_extended(a, min(n, 32))),
        ),
        AsmCase(
            "bmsk.clamp.b32", "bmsk.clamp.b32 $0, $1, $2;", ("u32", "u32"), "u32",
            ints("u32", lambda a, b: ((1 << min(b, 32)) - 1) << min(a, 32)),
        ),
        AsmCase(
            "bmsk.wrap.b32", "bmsk.wrap.b32 $0, $1, $2;", ("u32", "u32"), "u32",
            ints("u32", lambda a, b: ((1 << (b & 31)) - 1) << (a & 31)),
        ),
    ]  # fmt: skip
    return rows


def _sign_extended(a: int, n: int) -> int:
    if n == 0:
        return 0
    a &= (1 << n) - 1
    return a - (1 << n) if a >> n - 1 else a


def _float_rows() -> list[AsmCase]:
    rows = []
    operations = {"add": _add, "sub": _sub, "mul": _mul}
    for name, f in operations.items():
        for mode in ("rn", "rz", "rm", "rp"):
            if name == "sub" and mode == "rm":
                continue
            rows.append(
                AsmCase(
                    f"{name}.{mode}.f32", f"{name}.{mode}.f32 $0, $1, $2;", ("f32", "f32"), "f32",
                    exact(f, mode),
                )
            )  # fmt: skip
        rows.append(
            AsmCase(
                f"{name}.ftz.f32", f"{name}.ftz.f32 $0, $1, $2;", ("f32", "f32"), "f32",
                plain(lambda a, b, f=f: flushed(f(flushed(a), flushed(b)))),
            )
        )  # fmt: skip
        rows.append(
            AsmCase(
                f"{name}.sat.f32", f"{name}.sat.f32 $0, $1, $2;", ("f32", "f32"), "f32",
                plain(lambda a, b, f=f: _saturated(f(a, b))),
            )
        )  # fmt: skip
        rows.append(
            AsmCase(f"{name}.f64", f"{name}.rn.f64 $0, $1, $2;", ("f64", "f64"), "f64", plain(f))
        )
        rows.append(
            AsmCase(
                f"{name}.f16", f"{name}.rn.f16 $0, $1, $2;", ("f16", "f16"), "f16",
                exact(f, "rn", "f16"),
            )
        )  # fmt: skip
        rows.append(
            AsmCase(
                f"{name}.bf16", f"{name}.rn.bf16 $0, $1, $2;", ("bf16", "bf16"), "bf16",
                exact(f, "rn", "bf16"), arch="sm_90a",
            )
        )  # fmt: skip
        rows.append(
            AsmCase(
                f"{name}.f16x2", f"{name}.f16x2 $0, $1, $2;", ("u32", "u32"), "u32",
                packed(f, "f16"),
            )
        )  # fmt: skip
        rows.append(
            AsmCase(
                f"{name}.bf16x2", f"{name}.bf16x2 $0, $1, $2;", ("u32", "u32"), "u32",
                packed(f, "bf16"), arch="sm_90a",
            )
        )  # fmt: skip
    for mode in ("rn", "rz", "rp"):
        rows.append(
            AsmCase(
                f"fma.{mode}.f32", f"fma.{mode}.f32 $0, $1, $2, $3;", ("f32",) * 3, "f32",
                exact(_fma, mode),
            )
        )  # fmt: skip
        rows.append(
            AsmCase(
                f"div.{mode}.f32", f"div.{mode}.f32 $0, $1, $2;", ("f32",) * 2, "f32",
                exact(_div, mode),
            )
        )  # fmt: skip
        rows.append(
            AsmCase(
                f"rcp.{mode}.f32", f"rcp.{mode}.f32 $0, $1;", ("f32",), "f32",
                exact(_inverse, mode),
            )
        )  # fmt: skip
    for t in ("f16", "bf16"):
        rows.append(
            AsmCase(f"fma.{t}", f"fma.rn.{t} $0, $1, $2, $3;", (t,) * 3, t, exact(_fma, "rn", t))
        )
        rows.append(
            AsmCase(
                f"fma.relu.{t}", f"fma.rn.relu.{t} $0, $1, $2, $3;", (t,) * 3, t,
                lambda a, b, c, t=t: _relu(exact(_fma, "rn", t)(a, b, c)),
            )
        )  # fmt: skip
        for name, f in (("min", np.fmin), ("max", np.fmax)):
            rows.append(AsmCase(f"{name}.{t}", f"{name}.{t} $0, $1, $2;", (t, t), t, _narrow(f, t)))
    for name, f in (("min", np.fmin), ("max", np.fmax)):
        rows += [
            AsmCase(f"{name}.f32", f"{name}.f32 $0, $1, $2;", ("f32", "f32"), "f32", _extreme(f)),
            AsmCase(f"{name}.f64", f"{name}.f64 $0, $1, $2;", ("f64", "f64"), "f64", _extreme(f)),
            AsmCase(
                f"{name}.NaN.f32", f"{name}.NaN.f32 $0, $1, $2;", ("f32", "f32"), "f32",
                lambda a, b, f=f: np.where(
                    np.isnan(a) | np.isnan(b), np.float32(np.nan), _extreme(f)(a, b)),
            ),
            AsmCase(
                f"{name}.f16x2", f"{name}.f16x2 $0, $1, $2;", ("u32", "u32"), "u32",
                packed(_extreme(f), "f16"),
            ),
        ]  # fmt: skip
    rows += [
        AsmCase("abs.f32", "abs.f32 $0, $1;", ("f32",), "f32", np.abs),
        AsmCase("neg.f32", "neg.f32 $0, $1;", ("f32",), "f32", np.negative),
        AsmCase("neg.ftz.f32", "neg.ftz.f32 $0, $1;", ("f32",), "f32", lambda x: -flushed(x)),
        AsmCase("abs.f64", "abs.f64 $0, $1;", ("f64",), "f64", np.abs),
        AsmCase(
            "neg.f16x2", "neg.f16x2 $0, $1;", ("u32",), "u32", packed(np.negative, "f16")
        ),
        AsmCase(
            "abs.bf16x2", "abs.bf16x2 $0, $1;", ("u32",), "u32",
            packed(np.abs, "bf16"),
        ),
        AsmCase(
            "copysign.f32", "copysign.f32 $0, $1, $2;", ("f32", "f32"), "f32",
            lambda a, b: np.copysign(b, a),
        ),
        AsmCase("sqrt.rn.f32", "sqrt.rn.f32 $0, $1;", ("f32",), "f32", plain(np.sqrt)),
        AsmCase("sqrt.rn.f64", "sqrt.rn.f64 $0, $1;", ("f64",), "f64", plain(np.sqrt)),
        AsmCase("div.rn.f64", "div.rn.f64 $0, $1, $2;", ("f64", "f64"), "f64", plain(_div)),
        AsmCase("mul.rn.f32x2", "mul.rn.f32x2 $0, $1, $2;", ("u64", "u64"), "u64",
                lambda a, b: _pairs(plain(_mul), a, b), arch="sm_120a"),
    ]  # fmt: skip
    for name, f, gpu in (
        ("ex2.approx.f32", np.exp2, 3.0), ("rcp.approx.f32", _inverse, 2.0),
        ("rsqrt.approx.f32", lambda x: 1 / np.sqrt(x), 3.0), ("sqrt.approx.f32", np.sqrt, 3.0),
        ("lg2.approx.f32", np.log2, None), ("tanh.approx.f32", np.tanh, None),
    ):  # fmt: skip
        rows.append(
            AsmCase(name, f"{name} $0, $1;", ("f32",), "f32", wide(f), ulps=1, gpu_ulps=gpu)
        )
    rows += [
        AsmCase(
            "ex2.approx.ftz.f32", "ex2.approx.ftz.f32 $0, $1;", ("f32",), "f32",
            lambda x: flushed(wide(np.exp2)(flushed(x))), ulps=1, gpu_ulps=3,
        ),
        AsmCase(
            "sin.approx.f32",
            "{.reg .f32 x; max.f32 x, $1, 0fC0000000; min.f32 x, x, 2.0; sin.approx.f32 $0, x;}",
            ("f32",), "f32", wide(lambda x: np.sin(np.fmin(np.fmax(x, -2), 2))), ulps=1,
            gpu_ulps=None,
        ),
        AsmCase(
            "cos.approx.f32",
            "{.reg .f32 x; max.f32 x, $1, -2.0; min.f32 x, x, 0f40000000; cos.approx.f32 $0, x;}",
            ("f32",), "f32", wide(lambda x: np.cos(np.fmin(np.fmax(x, -2), 2))), ulps=1,
            gpu_ulps=None,
        ),
        AsmCase(
            "tanh.approx.f16", "tanh.approx.f16 $0, $1;", ("f16",), "f16", wide(np.tanh, "f16"),
            gpu_ulps=None,
        ),
        AsmCase(
            "div.full.f32", "div.full.f32 $0, $1, 3.0;", ("f32",), "f32",
            plain(lambda x: (x / np.float32(3)).astype(np.float32)), gpu_ulps=3,
        ),
    ]  # fmt: skip
    return rows


def _inverse(x: Any) -> Any:
    return 1 / x


def _relu(x: Any) -> Any:
    return np.where(x.astype(np.float32) < 0, 0, x.astype(np.float32)).astype(x.dtype)


def _narrow(f: Any, t: str) -> Callable[..., Any]:
    return lambda a, b: _extreme(f)(a.astype(np.float32), b.astype(np.float32)).astype(DTYPES[t])


def _saturated(x: Any) -> Any:
    return np.where(x > 0, np.fmin(x, np.float32(1)), np.float32(0)).astype(np.float32)


def _pairs(f: Callable[..., Any], a: Any, b: Any) -> Any:
    result = f(a.view(np.float32), b.view(np.float32)).astype(np.float32)
    bits = np.where(np.isnan(result), 0x7FFFFFFF, result.view(np.uint32)).astype(np.uint32)
    return bits.view(np.uint64)


def _compare_rows() -> list[AsmCase]:
    rows = []
    relations: dict[str, Callable[[Any, Any], Any]] = {
        "eq": lambda a, b: a == b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
        "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
    }  # fmt: skip
    for name, f in relations.items():
        for t in ("s16", "u32", "s64", "f32", "f64", "f16"):
            text = f"{{.reg .pred p; setp.{name}.{t} p, $1, $2; selp.u32 $0, 1, 0, p;}}"
            rows.append(
                AsmCase(
                    f"setp.{name}.{t}", text, (t, t), "u32",
                    lambda a, b, f=f: f(a, b).astype(np.uint32),
                )
            )  # fmt: skip
        text = f"{{.reg .pred p; setp.{name}u.f32 p, $1, $2; selp.u32 $0, 1, 0, p;}}"
        rows.append(
            AsmCase(
                f"setp.{name}u.f32", text, ("f32", "f32"), "u32",
                lambda a, b, f=f: (f(a, b) | np.isnan(a) | np.isnan(b)).astype(np.uint32),
            )
        )  # fmt: skip
    rows += [
        AsmCase(
            "setp.ne.f32", "{.reg .pred p; setp.ne.f32 p, $1, $2; selp.u32 $0, 1, 0, p;}",
            ("f32", "f32"), "u32", lambda a, b: ((a < b) | (a > b)).astype(np.uint32),
        ),
        AsmCase(
            "setp.nan.f32", "{.reg .pred p; setp.nan.f32 p, $1, $2; selp.u32 $0, 1, 0, p;}",
            ("f32", "f32"), "u32", lambda a, b: (np.isnan(a) | np.isnan(b)).astype(np.uint32),
        ),
        AsmCase(
            "setp.pair",
            "{.reg .pred p, q; setp.lt.and.s32 p|q, $1, $2, !p; "
            "selp.u32 $0, 1, 0, p; @q or.b32 $0, $0, 2;}",
            ("s32", "s32"), "u32", lambda a, b: np.where(a < b, 1, 2).astype(np.uint32),
        ),
        AsmCase(
            "setp.f16x2",
            "{.reg .pred p, q; setp.gt.f16x2 p|q, $1, $2; selp.u32 $0, 1, 0, p; "
            "@q add.u32 $0, $0, 2;}",
            ("u32", "u32"), "u32",
            lambda a, b: sum(
                (x.view(np.float16) > y.view(np.float16)).astype(np.uint32) << i
                for i, (x, y) in enumerate(zip(halves(a), halves(b), strict=True))),
        ),
        AsmCase(
            "set.lt.u32.f32", "set.lt.u32.f32 $0, $1, $2;", ("f32", "f32"), "u32",
            lambda a, b: np.where(a < b, 0xFFFFFFFF, 0).astype(np.uint32),
        ),
        AsmCase(
            "set.ge.f32.s32", "set.ge.f32.s32 $0, $1, $2;", ("s32", "s32"), "f32",
            lambda a, b: (a >= b).astype(np.float32),
        ),
        AsmCase(
            "slct.s32", "slct.u32.s32 $0, $1, $2, $3;", ("u32", "u32", "s32"), "u32",
            lambda a, b, c: np.where(c >= 0, a, b),
        ),
        AsmCase(
            "testp", "{.reg .pred p; testp.subnormal.f32 p, $1; selp.u32 $0, 1, 0, p;}", ("f32",),
            "u32",
            lambda x: ((x != 0) & (np.abs(x) < np.finfo(np.float32).tiny)).astype(np.uint32),
        ),
        AsmCase(
            "pred logic",
            "{.reg .pred p, q, r; setp.lt.s32 p, $1, 0; setp.gt.s32 q, $2, 0; and.pred r, p, q; "
            "not.pred r, r; @!r mov.u32 $0, 7; @r mov.u32 $0, 0b101;}",
            ("s32", "s32"), "u32",
            lambda a, b: np.where((a < 0) & (b > 0), 7, 5).astype(np.uint32),
        ),
    ]  # fmt: skip
    return rows


def _convert_rows() -> list[AsmCase]:
    rows = []
    to_whole = {"rni": round, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
    for name, f in to_whole.items():
        for t in ("s32", "u32", "s16", "s64"):
            nan = -(2**63) if t == "s64" else 0
            rows.append(
                AsmCase(
                    f"cvt.{name}.{t}.f32", f"cvt.{name}.{t}.f32 $0, $1;", ("f32",), t,
                    _to_int(t, f, nan),
                )
            )  # fmt: skip
    rows += [
        AsmCase(
            "cvt.rni.sat.s8.f32", "cvt.rni.sat.s8.f32 $0, $1;", ("f32",), "s32",
            lambda x: _to_int("s8", round)(x).astype(np.int32),
        ),
        AsmCase(
            "cvt.rzi.u8.f32", "cvt.rzi.u8.f32 $0, $1;", ("f32",), "u32",
            lambda x: _to_int("u8", np.trunc)(x).astype(np.uint32),
        ),
        AsmCase(
            "cvt.rzi.s32.f64", "cvt.rzi.s32.f64 $0, $1;", ("f64",), "s32",
            _to_int("s32", np.trunc, -(2**31)),
        ),
        AsmCase(
            "cvt.rzi.s32.f16", "cvt.rzi.s32.f16 $0, $1;", ("f16",), "s32", _to_int("s32", np.trunc)
        ),
        AsmCase(
            "cvt.rni.f32.f32", "cvt.rni.f32.f32 $0, $1;", ("f32",), "f32", plain(np.rint)
        ),
        AsmCase(
            "cvt.rpi.f64.f64", "cvt.rpi.f64.f64 $0, $1;", ("f64",), "f64", plain(np.ceil)
        ),
        AsmCase(
            "cvt.sat.f32.f32", "cvt.sat.f32.f32 $0, $1;", ("f32",), "f32", plain(_saturated)
        ),
        AsmCase(
            "cvt.ftz.f32.f32", "cvt.ftz.f32.f32 $0, $1;", ("f32",), "f32", flushed
        ),
        AsmCase(
            "cvt.f64.f32", "cvt.f64.f32 $0, $1;", ("f32",), "f64", lambda x: x.astype(np.float64)
        ),
        AsmCase(
            "cvt.f32.f16", "cvt.f32.f16 $0, $1;", ("f16",), "f32", lambda x: x.astype(np.float32)
        ),
        AsmCase(
            "cvt.f32.bf16", "cvt.f32.bf16 $0, $1;", ("bf16",), "f32",
            lambda x: x.astype(np.float32), arch="sm_90a",
        ),
        AsmCase(
            "cvt.u32.u8", "cvt.u32.u8 $0, $1;", ("u32",), "u32", lambda x: x & np.uint32(255)
        ),
        AsmCase(
            "cvt.s32.s8", "cvt.s32.s8 $0, $1;", ("u32",), "s32",
            lambda x: x.astype(np.uint8).view(np.int8).astype(np.int32),
        ),
        AsmCase(
            "cvt.s64.s32", "cvt.s64.s32 $0, $1;", ("s32",), "s64", lambda x: x.astype(np.int64)
        ),
        AsmCase(
            "cvt.sat.u8.s32", "cvt.sat.u8.s32 $0, $1;", ("s32",), "u32",
            lambda x: np.clip(x, 0, 255).astype(np.uint32),
        ),
        AsmCase(
            "cvt.sat.s16.s64", "cvt.sat.s16.s64 $0, $1;", ("s64",), "s16",
            lambda x: np.clip(x, -32768, 32767).astype(np.int16),
        ),
    ]  # fmt: skip
    for source in ("s32", "u32", "s64", "u64"):
        for mode in ("rn", "rz", "rm", "rp"):
            rows.append(
                AsmCase(
                    f"cvt.{mode}.f32.{source}", f"cvt.{mode}.f32.{source} $0, $1;", (source,),
                    "f32", lambda x, m=mode: _from_ints(x, m, "f32"),
                )
            )  # fmt: skip
    rows += [
        AsmCase(
            "cvt.rn.f16.s64", "cvt.rn.f16.s64 $0, $1;", ("s64",), "f16",
            lambda x: _from_ints(x, "rn", "f16"),
        ),
        AsmCase(
            "cvt.rn.f16.u32", "cvt.rn.f16.u32 $0, $1;", ("u32",), "f16",
            lambda x: _from_ints(x, "rn", "f16"),
        ),
        AsmCase(
            "cvt.rn.f64.u64", "cvt.rn.f64.u64 $0, $1;", ("u64",), "f64",
            lambda x: x.astype(np.float64),
        ),
    ]  # fmt: skip
    for to in ("f16", "bf16"):
        for mode in ("rn", "rz"):
            rows.append(
                AsmCase(
                    f"cvt.{mode}.{to}.f32", f"cvt.{mode}.{to}.f32 $0, $1;", ("f32",), to,
                    exact(_same, mode, to),
                )
            )  # fmt: skip
            rows.append(
                AsmCase(
                    f"cvt.{mode}.{to}x2.f32", f"cvt.{mode}.{to}x2.f32 $0, $1, $2;",
                    ("f32", "f32"), "u32",
                    lambda a, b, m=mode, t=to: _words(exact(_same, m, t)(a), exact(_same, m, t)(b)),
                )
            )  # fmt: skip
        rows.append(
            AsmCase(
                f"cvt.rn.relu.{to}.f32", f"cvt.rn.relu.{to}.f32 $0, $1;", ("f32",), to,
                lambda x, t=to: exact(_same, "rn", t)(np.where(x <= 0, np.float32(0), x)),
            )
        )  # fmt: skip
    for mode in ("rm", "rp"):
        rows.append(
            AsmCase(
                f"cvt.{mode}.f16.f32", f"cvt.{mode}.f16.f32 $0, $1;", ("f32",), "f16",
                exact(_same, mode, "f16"),
            )
        )  # fmt: skip
        rows.append(
            AsmCase(
                f"cvt.{mode}.f32.f64", f"cvt.{mode}.f32.f64 $0, $1;", ("f64",), "f32",
                exact(_same, mode, "f32"),
            )
        )  # fmt: skip
    return rows + _packed_rows()


def _packed_rows() -> list[AsmCase]:
    e4m3, e5m2 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
    e2m1, e2m3, e3m2 = (
        ml_dtypes.float4_e2m1fn, ml_dtypes.float6_e2m3fn, ml_dtypes.float6_e3m2fn
    )  # fmt: skip
    rows = []
    for name, dtype, top in (("e4m3x2", e4m3, 448.0), ("e5m2x2", e5m2, 57344.0)):
        rows += [
            AsmCase(
                f"cvt.{name}.f32", f"cvt.rn.satfinite.{name}.f32 $0, $1, $2;", ("f32", "f32"),
                "u16", _two(_eight(dtype, top)), arch="sm_90a",
            ),
            AsmCase(
                f"cvt.relu.{name}.f32", f"cvt.rn.satfinite.relu.{name}.f32 $0, $1, $2;",
                ("f32", "f32"), "u16", _two(_eight(dtype, top, True)), arch="sm_90a",
            ),
            AsmCase(
                f"cvt.{name}.f16x2", f"cvt.rn.satfinite.{name}.f16x2 $0, $1;", ("u32",), "u16",
                lambda x, d=dtype, t=top: _two(_eight(d, t))(
                    halves(x)[1].view(np.float16), halves(x)[0].view(np.float16)),
                arch="sm_90a",
            ),
            AsmCase(
                f"cvt.f16x2.{name}", f"cvt.rn.f16x2.{name} $0, $1;", ("u16",), "u32",
                lambda x, d=dtype: _words(
                    (x >> 8).astype(np.uint8).view(d).astype(np.float16),
                    (x & 255).astype(np.uint8).view(d).astype(np.float16)),
                arch="sm_90a",
            ),
        ]  # fmt: skip
    for name, dtype in (("e2m3x2", e2m3), ("e3m2x2", e3m2)):
        rows.append(
            AsmCase(
                f"cvt.{name}.f32", f"cvt.rn.satfinite.{name}.f32 $0, $1, $2;", ("f32", "f32"),
                "u16", _two(_mini(dtype)), arch="sm_120a",
            )
        )  # fmt: skip
    rows += [
        AsmCase(
            "cvt.e2m1x2.f32",
            "{.reg .b8 b; cvt.rn.satfinite.e2m1x2.f32 b, $1, $2; cvt.u32.u8 $0, b;}",
            ("f32", "f32"), "u32",
            lambda a, b: _two(_mini(e2m1), 4)(a, b).astype(np.uint32), arch="sm_120a",
        ),
        AsmCase(
            "cvt.f16x2.e2m1x2",
            "{.reg .b8 b, c, d, e; mov.b32 {b, c, d, e}, $1; cvt.rn.f16x2.e2m1x2 $0, c;}",
            ("u32",), "u32",
            lambda x: _words(
                (x >> 12 & 15).astype(np.uint8).view(e2m1).astype(np.float16),
                (x >> 8 & 15).astype(np.uint8).view(e2m1).astype(np.float16)),
            arch="sm_120a",
        ),
        AsmCase(
            "cvt.rp.ue8m0x2.f32", "cvt.rp.satfinite.ue8m0x2.f32 $0, $1, $2;", ("f32", "f32"),
            "u16", _two(_scale(True)), arch="sm_120a",
        ),
        AsmCase(
            "cvt.rz.ue8m0x2.f32", "cvt.rz.satfinite.ue8m0x2.f32 $0, 0.0, $1;", ("f32",), "u16",
            lambda x: _scale(False)(x).astype(np.uint16), arch="sm_120a",
        ),
        AsmCase(
            "cvt.bf16x2.ue8m0x2", "cvt.rn.bf16x2.ue8m0x2 $0, $1;", ("u16",), "u32",
            lambda x: _words(_from_scale(x >> 8), _from_scale(x & 255)), arch="sm_120a",
        ),
        AsmCase(
            "cvt.rs.f16x2.f32", "cvt.rs.f16x2.f32 $0, $1, $2, $3;", ("f32", "f32", "u32"), "u32",
            _stochastic, arch="sm_100a",
        ),
        AsmCase(
            "cvt.rna.tf32.f32", "cvt.rna.tf32.f32 $0, $1;", ("f32",), "u32",
            _tf32(lambda bits: np.uint32(0x1000), lambda bits: bits & 0xFFFFE000),
        ),
        AsmCase(
            "cvt.rn.tf32.f32", "cvt.rn.tf32.f32 $0, $1;", ("f32",), "u32",
            _tf32(lambda bits: 0xFFF + (bits >> np.uint32(13) & 1), lambda bits: 0x7FFFE000),
            arch="sm_90a",
        ),
        AsmCase(
            "cvt.pack.sat.u8.s32", "cvt.pack.sat.u8.s32.b32 $0, $1, $2, $3;",
            ("s32", "s32", "u32"), "u32",
            lambda a, b, c: (c << np.uint32(16)) | (np.clip(a, 0, 255).astype(np.uint32) << 8)
            | np.clip(b, 0, 255).astype(np.uint32),
        ),
        AsmCase(
            "cvt.pack.sat.s16.s32", "cvt.pack.sat.s16.s32 $0, $1, $2;", ("s32", "s32"), "u32",
            lambda a, b: np.clip(a, -32768, 32767).astype(np.uint32) << np.uint32(16)
            | np.clip(b, -32768, 32767).astype(np.uint32) & np.uint32(0xFFFF),
        ),
    ]  # fmt: skip
    return rows


def _same(x: Any) -> Any:
    return x


def _from_ints(x: Any, mode: str, dtype: str) -> Any:
    return np.array(
        [rounded(Fraction(int(v)), mode, *_FORMATS[dtype]) for v in x]
    ).astype(DTYPES[dtype])  # fmt: skip


def _words(high: Any, low: Any) -> Any:
    """Two arrays of 16-bit floats in one of words; NaNs as PTX has them."""

    def bits(x: Any) -> Any:
        nan = np.isnan(x.astype(np.float32))
        return np.where(nan, 0x7FFF, x.view(np.uint16)).astype(np.uint32)

    return bits(high) << np.uint32(16) | bits(low)


def _eight(dtype: Any, top: float, relu: bool = False) -> Callable[[Any], Any]:
    def call(x: Any) -> Any:
        return np.where(np.isnan(x.astype(np.float32)), 0x7F, through(dtype, top, relu)(x))

    return call


def _from_scale(x: Any) -> Any:
    with np.errstate(all="ignore"):
        power = np.ldexp(1.0, x.astype(np.int32) - 127)
    return np.where(x == 255, np.nan, power).astype(ml_dtypes.bfloat16)


def _move_rows() -> list[AsmCase]:
    return [
        AsmCase("mov.b32", "mov.b32 $0, $1;", ("u32",), "u32", lambda x: x),
        AsmCase("mov.f32", "mov.f32 $0, 0f3FC00000;", ("u32",), "f32",
                lambda x: np.full(COUNT, 1.5, np.float32)),
        AsmCase("mov.b64 list", "{.reg .b32 a, b; mov.b64 {a, b}, $1; mov.b64 $0, {b, a};}",
                ("u64",), "u64", lambda x: x >> np.uint64(32) | x << np.uint64(32)),
        AsmCase("mov.b32 halves", "{.reg .b16 a; mov.b32 {_, a}, $1; cvt.u32.u16 $0, a;}",
                ("u32",), "u32", lambda x: x >> np.uint32(16)),
        AsmCase("scopes",
                "{ .reg .u32 t<3>; // three\n mov.u32 t0, 1; { .reg .u32 t0; mov.u32 t0, 40; "
                "add.u32 t1, t0, 2; } /* t0 again */ add.u32 $0, t0, t1; }",
                ("u32",), "u32", lambda x: np.full(COUNT, 43, np.uint32)),
        AsmCase("loop",
                "{.reg .u32 n, s; .reg .pred p; and.b32 n, $1, 15; mov.u32 s, 0; AGAIN: "
                "setp.eq.u32 p, n, 0; @p bra DONE; add.u32 s, s, n; sub.u32 n, n, 1; bra AGAIN; "
                "DONE: mov.u32 $0, s;}",
                ("u32",), "u32", lambda x: (x & 15) * ((x & 15) + 1) // 2),
        AsmCase("several", "add.u32 $0, $1, -1; xor.b32 $0, $0, 0xffU; shl.b32 $0, $0, 010;",
                ("u32",), "u32", lambda x: ((x - np.uint32(1)) ^ np.uint32(255)) << np.uint32(8)),
    ]  # fmt: skip


CASES: list[AsmCase] = [
    *_integers(), *_bit_rows(), *_float_rows(), *_compare_rows(), *_convert_rows(), *_move_rows()
]  # fmt: skip
