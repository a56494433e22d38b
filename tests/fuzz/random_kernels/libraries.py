"""Rules: functions of libdevice, inline assembly, combine functions of several values, dots of
microscaling formats."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from random_kernels.blocks import halves, steps
from random_kernels.dtypes import BF16, DTYPES, F16, F32, F64, I32, I64, U32, DType, fma32
from random_kernels.elementwise import larger, operands, spread
from random_kernels.grow import Grower, rule
from random_kernels.tree import Expr, Kind

U8, U64 = DTYPES["uint8"], DTYPES["uint64"]

# -- libdevice ------------------------------------------------------------------------------------


def _by_bits(function: Callable[[int], int], bits: int) -> Callable[..., Any]:
    mask = (1 << bits) - 1
    return lambda a: np.array(
        [function(int(x) & mask) for x in np.ravel(a)], np.int64
    ).reshape(np.shape(a))  # fmt: skip


def _away(x: Any) -> Any:
    """Half away from zero."""
    whole = np.trunc(x)
    more = np.abs(x - whole) >= 0.5
    return np.where(more, whole + np.copysign(np.ones_like(x), x), np.where(
        whole == 0, np.copysign(np.zeros_like(x), x), whole)).astype(x.dtype)  # fmt: skip


def _reversed(bits: int) -> Callable[[int], int]:
    def one(x: int) -> int:
        turned = int(format(x, f"0{bits}b")[::-1], 2)
        return turned - (turned >> (bits - 1) << bits)

    return one


# Name, argument types, result, NumPy: what gives the same bits on every device.
_LIBDEVICE: list[tuple[str, tuple[DType, ...], DType, Callable[..., Any]]] = [
    ("popc", (I32,), I32, _by_bits(lambda x: x.bit_count(), 32)),
    ("popc", (I64,), I32, _by_bits(lambda x: x.bit_count(), 64)),
    ("clz", (I32,), I32, _by_bits(lambda x: 32 - x.bit_length(), 32)),
    ("clz", (I64,), I32, _by_bits(lambda x: 64 - x.bit_length(), 64)),
    ("ffs", (I32,), I32, _by_bits(lambda x: (x & -x).bit_length(), 32)),
    ("ffs", (I64,), I32, _by_bits(lambda x: (x & -x).bit_length(), 64)),
    ("brev", (I32,), I32, _by_bits(_reversed(32), 32)),
    ("brev", (I64,), I64, _by_bits(_reversed(64), 64)),
    ("abs", (I32,), I32, np.abs),
    ("abs", (I64,), I64, np.abs),
    ("hadd", (I32, I32), I32, lambda a, b: (a.astype(np.int64) + b) >> 1),
    ("rhadd", (I32, I32), I32, lambda a, b: (a.astype(np.int64) + b + 1) >> 1),
    ("hadd", (U32, U32), U32, lambda a, b: (a.astype(np.uint64) + b) >> np.uint64(1)),
    ("mulhi", (I32, I32), I32, lambda a, b: a.astype(np.int64) * b >> 32),
    ("mulhi", (U32, U32), U32, lambda a, b: a.astype(np.uint64) * b >> np.uint64(32)),
    ("mul24", (U32, U32), U32, lambda a, b: (a & 0xFFFFFF).astype(np.uint64) * (b & 0xFFFFFF)),
    ("sad", (I32, I32, U32), I32, lambda a, b, c: np.abs(a.astype(np.int64) - b) + c),
    ("copysign", (F32, F32), F32, np.copysign),
    ("copysign", (F64, F64), F64, np.copysign),
    ("nextafter", (F32, F32), F32, np.nextafter),
    ("trunc", (F32,), F32, np.trunc),
    ("trunc", (F64,), F64, np.trunc),
    ("rint", (F32,), F32, np.rint),
    ("nearbyint", (F64,), F64, np.rint),
    ("round", (F32,), F32, _away),
    ("round", (F64,), F64, _away),
    ("floor", (F32,), F32, np.floor),
    ("ceil", (F64,), F64, np.ceil),
    ("abs", (F32,), F32, np.abs),
    ("fma", (F32, F32, F32), F32, fma32),
    ("fma_rn", (F32, F32, F32), F32, fma32),
    ("add_rn", (F32, F32), F32, np.add),
    ("sub_rn", (F64, F64), F64, np.subtract),
    ("mul_rn", (F32, F32), F32, np.multiply),
    ("div_rn", (F32, F32), F32, np.divide),
    ("sqrt_rn", (F64,), F64, np.sqrt),
    ("rcp_rn", (F32,), F32, lambda a: np.float32(1) / a),
    ("fmod", (F64, F64), F64, np.fmod),
    ("isnan", (F32,), DTYPES["int1"], np.isnan),
    ("isinf", (F64,), DTYPES["int1"], np.isinf),
    ("finitef", (F32,), DTYPES["int1"], np.isfinite),
    ("int2double_rn", (I32,), F64, lambda a: a),
    ("uint2float_rn", (U32,), F32, lambda a: a),
    ("ll2double_rn", (I64,), F64, lambda a: a),
    ("int_as_float", (I32,), F32, lambda a: np.ascontiguousarray(a).view(np.float32)),
    ("longlong_as_double", (I64,), F64, lambda a: np.ascontiguousarray(a).view(np.float64)),
]


@rule(2)
def libdevice(grow: Grower, want: Kind, depth: int) -> Expr | None:
    rows = [row for row in _LIBDEVICE if row[2] == want.dtype]
    if not rows:
        return None
    name, types, _, function = grow.pick(rows)
    places = ", ".join(f"{{{place}}}" for place in range(len(types)))

    def value(*arrays: Any) -> Any:
        found = np.asarray(function(*spread(*arrays)))
        return found.reshape(want.shape).astype(want.dtype.numpy)

    return Expr(
        want, f"libdevice.{name}({places})", *operands(grow, want.shape, types, depth), value=value
    )


# -- inline assembly ------------------------------------------------------------------------------

_OF_PTX = {
    "s32": I32, "u32": U32, "s64": I64, "u64": U64, "s16": DTYPES["int16"], "u16": DTYPES["uint16"],
}  # fmt: skip
_OPCODES = set("add sub mul mad min max and or xor not shl shr abs neg popc clz brev lop3".split())


@cache
def _assembly() -> dict[DType, list[Any]]:
    """Rows of tests/python/inline_asm_cases on integers, by the type of their result."""
    sys.path.append(str(Path(__file__).parents[2] / "python"))
    import inline_asm_cases

    rows: dict[DType, list[Any]] = {}
    for case in inline_asm_cases.CASES:
        known = {case.result, *case.args} <= set(_OF_PTX) and not case.arch
        is_plain = ".sat" not in case.name and "f16x2" not in case.name  # whose NaNs differ
        if known and is_plain and case.name.split(".")[0] in _OPCODES:
            rows.setdefault(_OF_PTX[case.result], []).append(case)
    return rows


@rule(1.5)
def assembly(grow: Grower, want: Kind, depth: int) -> Expr | None:
    """One instruction, whose operands are blocks or scalars."""
    rows = _assembly().get(want.dtype)
    if not rows:
        return None
    case = grow.pick(rows)
    types = tuple(_OF_PTX[arg] for arg in case.args)
    pure = grow.chance(0.8)
    places = ", ".join(f"{{{place}}}" for place in range(len(types)))
    text = case.text.replace("{", "{{").replace("}", "}}")
    kids = operands(grow, want.shape, types, depth)
    if np.broadcast_shapes(*(kid.kind.shape for kid in kids)) != want.shape:
        return None

    def value(*arrays: Any) -> Any:
        return case.reference(*(np.ravel(a) for a in spread(*arrays))).reshape(want.shape)

    return Expr(
        want, f'tl.inline_asm_elementwise("{text}", "{case.constraints}", [{places}], '
        f"{want.dtype}, {pure}, 1)", *kids, value=value,
    )  # fmt: skip


# -- combine functions of several values ----------------------------------------------------------


def _mixed(x: Any, y: Any) -> Any:
    """combine_mixed of prelude.py, of structured arrays."""
    result = np.empty(np.broadcast_shapes(x.shape, y.shape), x.dtype)
    result["a"] = x["a"] + y["a"]
    result["b"] = larger(x["b"], y["b"])
    result["c"] = np.where(x["b"] < y["b"], y["c"], x["c"])
    return result


def _affine(x: Any, y: Any) -> Any:
    result = np.empty(np.broadcast_shapes(x.shape, y.shape), x.dtype)
    result["a"], result["b"] = x["a"] * y["a"], x["a"] * y["b"] + x["b"]
    return result


def _packed(*arrays: Any) -> Any:
    names = "abc"
    both = np.empty(arrays[0].shape, [(n, a.dtype) for n, a in zip(names, arrays)])
    for name, array in zip(names, arrays):
        both[name] = array
    return both


def _several(grow: Grower, want: Kind, shape: tuple[int, ...], depth: int) -> Any:
    """Operands, the function's name, the same in NumPy, and which result is wanted."""
    if want.dtype.family in "iu" and want.dtype.bits >= 32 and grow.chance(0.4):
        kids = [grow.expr(Kind(want.dtype, shape), depth) for _ in range(2)]
        return kids, "combine_pair", _affine, grow.pick([0, 1])
    wide = [I32, I64, U32]
    place = grow.pick([0, 1, 2] if want.dtype in wide else [1, 2])
    types = [grow.pick(wide), grow.pick([I32, I64, F32, F64]), grow.pick([*wide, F32, F16, BF16])]
    if place == 1 and want.dtype not in (I32, I64, F32, F64):
        place = 2
    types[place] = want.dtype
    return [grow.expr(Kind(t, shape), depth) for t in types], "combine_mixed", _mixed, place


@rule(1)
def scan_of_several(grow: Grower, want: Kind, depth: int) -> Expr | None:
    if not want.shape or want.dtype.family not in "iuf":
        return None
    axis, reverse = grow.random.randrange(len(want.shape)), grow.chance(0.4)
    kids, name, combine, place = _several(grow, want, want.shape, depth)
    if name == "combine_mixed":  # equal values of other sign, and NaN, depend on the order
        kids[1] = grow.small(kids[1].kind, depth)
    places = ", ".join(f"{{{i}}}" for i in range(len(kids)))
    return Expr(
        want, f"tl.associative_scan(({places}), {axis}, {name}, reverse={reverse})[{place}]", *kids,
        value=lambda *xs: steps(_packed(*xs), axis, combine, reverse)["abc"[place]],
    )  # fmt: skip


@rule(1)
def reduce_of_several(grow: Grower, want: Kind, depth: int) -> Expr | None:
    if len(want.shape) > 2 or want.dtype.family not in "iuf":
        return None
    axis = grow.random.randrange(len(want.shape) + 1)
    shape = (*want.shape[:axis], grow.pick([1, 2, 8, 32, 64]), *want.shape[axis:])
    if np.prod(shape) > grow.largest:
        return None
    kids, name, combine, place = _several(grow, want, shape, depth)
    if name == "combine_mixed":
        kids[1] = grow.small(kids[1].kind, depth)
    places = ", ".join(f"{{{i}}}" for i in range(len(kids)))
    return Expr(
        want, f"tl.reduce(({places}), {axis}, {name})[{place}]", *kids,
        value=lambda *xs: halves(_packed(*xs), axis, combine)["abc"[place]],
    )  # fmt: skip


# -- dots of microscaling formats -----------------------------------------------------------------

_FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
_FORMATS = {
    "e4m3": DTYPES["float8e4nv"], "e5m2": DTYPES["float8e5"], "bf16": BF16, "fp16": F16, "e2m1": U8,
}  # fmt: skip


class _Scaled:
    """An operand with K along its last axis: a texts' worth of kids, and its numbers."""

    def __init__(self, grow: Grower, rows: int, inner: int, first: int, depth: int) -> None:
        self.format = grow.pick(_FORMATS)
        self.is_packed = self.format == "e2m1"
        dtype = _FORMATS[self.format]
        kind = Kind(dtype, (rows, inner // 2 if self.is_packed else inner))
        self.kids = [grow.expr(kind, depth) if self.is_packed else grow.small(kind, depth)]
        self.at, self.scale = f"{{{first}}}", "None"
        if grow.chance(0.7) or self.format not in ("bf16", "fp16"):
            # Powers of 2 from 1/2 to 4: all products are exact.
            index = grow.expr(Kind(U8, (rows, inner // 32)), depth)
            self.kids.append(Expr(
                index.kind, "(({0} & 3) + 126)", index,
                value=lambda x: (x & np.uint8(3)) + np.uint8(126)))  # fmt: skip
            self.scale = f"{{{first + 1}}}"

    def numbers(self, values: Any, scale: Any = None) -> Any:
        if self.is_packed:
            codes = np.stack([values & 15, values >> 4], -1).reshape(values.shape[0], -1)
            numbers = _FP4[codes]
        else:
            numbers = values.astype(np.float64)
        if scale is None:
            return numbers
        return numbers * np.repeat(np.exp2(scale.astype(np.float64) - 127), 32, 1)


@rule(0.8)
def dot_scaled(grow: Grower, want: Kind, depth: int) -> Expr | None:
    if len(want.shape) != 2 or want.dtype != F32 or min(want.shape) < 2:
        return None
    inner = grow.pick([32, 64])
    if max(want.shape) * inner > grow.input_size:
        return None
    a = _Scaled(grow, want.shape[0], inner, 0, min(depth, 1))
    b = _Scaled(grow, want.shape[1], inner, len(a.kids), min(depth, 1))
    count = len(a.kids)

    def value(*arrays: Any) -> Any:
        left, right = a.numbers(*arrays[:count]), b.numbers(*arrays[count:])
        return (left @ right.T).astype(np.float32)

    return Expr(
        want, f'tl.dot_scaled({a.at}, {a.scale}, "{a.format}", tl.trans({b.at}), {b.scale}, '
        f'"{b.format}")', *a.kids, *b.kids, value=value,
    )  # fmt: skip
