"""Arithmetic of integers."""

from __future__ import annotations

from collections.abc import Callable

from inline_asm_cases.case import AsmCase
from inline_asm_cases.formulas import add, ints

_BITS = {"u16": 16, "s16": 16, "u32": 32, "s32": 32, "u64": 64, "s64": 64}


def _c_div(a: int, b: int) -> int:
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def integer_rows() -> list[AsmCase]:
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
            ints("u32", lambda a, b: _both(a, b, add)), arch="sm_90a",
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
