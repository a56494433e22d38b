"""Conversions to and from floats of 16 bits and fewer, several in a register."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np

from inline_asm_cases.case import AsmCase
from inline_asm_cases.formulas import halves, rounded, words


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


def _eight(dtype: Any, top: float, relu: bool = False) -> Callable[[Any], Any]:
    def call(x: Any) -> Any:
        return np.where(np.isnan(x.astype(np.float32)), 0x7F, through(dtype, top, relu)(x))

    return call


def _from_scale(x: Any) -> Any:
    with np.errstate(all="ignore"):
        power = np.ldexp(1.0, x.astype(np.int32) - 127)
    return np.where(x == 255, np.nan, power).astype(ml_dtypes.bfloat16)


def narrow_rows() -> list[AsmCase]:
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
                lambda x, d=dtype: words(
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
            lambda x: words(
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
            lambda x: words(_from_scale(x >> 8), _from_scale(x & 255)), arch="sm_120a",
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
