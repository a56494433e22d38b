"""Comparisons and what predicates choose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from inline_asm_cases.case import AsmCase
from inline_asm_cases.formulas import halves


def compare_rows() -> list[AsmCase]:
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
            "{.reg .pred p, q; setp.ne.s32 p, $1, $1; setp.lt.and.s32 p|q, $1, $2, !p; "
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
