"""Arithmetic of floats, single ones and pairs in a register."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from inline_asm_cases.case import DTYPES, AsmCase
from inline_asm_cases.formulas import (
    add,
    div,
    exact,
    flushed,
    fma,
    halves,
    mul,
    plain,
    saturated,
    sub,
    wide,
)


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


def _number(f: Any) -> Callable[..., Any]:
    """fmin or fmax with NaN only where both are: of signaling ones NumPy's depends on the
    processor."""

    def call(a: Any, b: Any) -> Any:
        return np.where(np.isnan(a), b, np.where(np.isnan(b), a, f(a, b)))

    return call


def _extreme(f: Any) -> Callable[..., Any]:
    """fmin and fmax with -0 below +0."""

    def call(a: Any, b: Any) -> Any:
        zeros = (a == 0) & (b == 0)
        sign = np.signbit(a) | np.signbit(b) if f is np.fmin else np.signbit(a) & np.signbit(b)
        signed = np.where(sign, -0.0, 0.0).astype(a.dtype)
        return np.where(zeros, signed, _number(f)(a, b)).astype(a.dtype)

    return call


def _inverse(x: Any) -> Any:
    return 1 / x


def _relu(x: Any) -> Any:
    return np.where(x.astype(np.float32) < 0, 0, x.astype(np.float32)).astype(x.dtype)


def _narrow(f: Any, t: str) -> Callable[..., Any]:
    return lambda a, b: _extreme(f)(a.astype(np.float32), b.astype(np.float32)).astype(DTYPES[t])


def _pairs(f: Callable[..., Any], a: Any, b: Any) -> Any:
    result = f(a.view(np.float32), b.view(np.float32)).astype(np.float32)
    bits = np.where(np.isnan(result), 0x7FFFFFFF, result.view(np.uint32)).astype(np.uint32)
    return bits.view(np.uint64)


def float_rows() -> list[AsmCase]:
    rows = []
    operations = {"add": add, "sub": sub, "mul": mul}
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
                plain(lambda a, b, f=f: saturated(f(a, b))),
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
                exact(fma, mode),
            )
        )  # fmt: skip
        rows.append(
            AsmCase(
                f"div.{mode}.f32", f"div.{mode}.f32 $0, $1, $2;", ("f32",) * 2, "f32",
                exact(div, mode),
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
            AsmCase(f"fma.{t}", f"fma.rn.{t} $0, $1, $2, $3;", (t,) * 3, t, exact(fma, "rn", t))
        )
        rows.append(
            AsmCase(
                f"fma.relu.{t}", f"fma.rn.relu.{t} $0, $1, $2, $3;", (t,) * 3, t,
                lambda a, b, c, t=t: _relu(exact(fma, "rn", t)(a, b, c)),
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
        AsmCase("div.rn.f64", "div.rn.f64 $0, $1, $2;", ("f64", "f64"), "f64", plain(div)),
        AsmCase("mul.rn.f32x2", "mul.rn.f32x2 $0, $1, $2;", ("u64", "u64"), "u64",
                lambda a, b: _pairs(plain(mul), a, b), arch="sm_120a"),
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
