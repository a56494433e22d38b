"""Conversions between numbers of one register each."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from inline_asm_cases.case import DTYPES, AsmCase
from inline_asm_cases.formulas import (
    FORMATS,
    exact,
    flushed,
    masked,
    plain,
    rounded,
    saturated,
    words,
)


def _to_int(dtype: str, rounding: Callable[[Any], Any], nan: int = 0) -> Callable[[Any], Any]:
    info = np.iinfo(DTYPES[dtype])

    def one(x: float) -> int:
        if np.isnan(x):
            return nan
        if np.isinf(x):
            return info.max if x > 0 else info.min
        return min(max(int(rounding(x)), info.min), info.max)

    return lambda x: masked([one(float(v)) for v in x], dtype)


def _same(x: Any) -> Any:
    return x


def _from_ints(x: Any, mode: str, dtype: str) -> Any:
    return np.array(
        [rounded(Fraction(int(v)), mode, *FORMATS[dtype]) for v in x]
    ).astype(DTYPES[dtype])  # fmt: skip


def convert_rows() -> list[AsmCase]:
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
            "cvt.sat.f32.f32", "cvt.sat.f32.f32 $0, $1;", ("f32",), "f32", plain(saturated)
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
                    lambda a, b, m=mode, t=to: words(exact(_same, m, t)(a), exact(_same, m, t)(b)),
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
    return rows
