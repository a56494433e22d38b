"""Rules: operators, comparisons, choices, casts, functions of elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from random_kernels import dtypes, tree
from random_kernels.dtypes import (
    BF16,
    BOOL,
    DTYPES,
    F16,
    F32,
    F64,
    DType,
    computed,
    convert,
    pairs,
    promoted,
)  # fmt: skip
from random_kernels.grow import Grower, rule
from random_kernels.tree import Expr, Kind

WIDE = (F32, F64)


def shapes(grow: Grower, shape: tuple[int, ...], count: int) -> list[tuple[int, ...]]:
    """Shapes of operands that broadcast to ``shape``, mostly that itself."""
    result = [shape] * count
    if not shape or grow.chance(0.6):
        return result
    at = grow.random.randrange(count)
    how = grow.random.randrange(4)
    if how == 0:
        result[at] = ()
    elif how == 1:
        result[at] = shape[1:]  # Triton adds axes at the front
    elif count > 1:
        axis = grow.random.randrange(len(shape))
        result[at] = (*shape[:axis], 1, *shape[axis + 1 :])
        if how == 3:
            other = grow.random.randrange(len(shape))
            if other != axis:
                result[at - 1] = (*shape[:other], 1, *shape[other + 1 :])
    return result if any(s == shape for s in result) or np.broadcast_shapes(*result) == shape else (
        [shape] * count)  # fmt: skip


def spread(*operands: Any) -> Any:
    return np.broadcast_arrays(*operands)


def operands(grow: Grower, shape: tuple[int, ...], types: Any, depth: int) -> list[Expr]:
    return [
        grow.expr(Kind(dtype, size), depth)
        for dtype, size in zip(types, shapes(grow, shape, len(types)))
    ]


# -- operators ------------------------------------------------------------------------------------

_ARITHMETIC = {"+": np.add, "-": np.subtract, "*": np.multiply}
_BITWISE = {"&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor}
_ON_BOOL = {"+": np.logical_xor, "-": np.logical_xor, "*": np.logical_and}
_COMPARISONS = {
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
    "==": np.equal, "!=": np.not_equal,
}  # fmt: skip


def _types(grow: Grower, dtype: DType, **how: bool) -> tuple[DType, DType] | None:
    if grow.chance(0.5) and promoted(dtype, dtype, **how) == dtype:
        return dtype, dtype
    known = pairs(dtype, **how)
    return grow.pick(known) if known else None


@rule(5)
def arithmetic(grow: Grower, want: Kind, depth: int) -> Expr | None:
    types = _types(grow, want.dtype)
    if types is None:
        return None
    sign = grow.pick(_ARITHMETIC)
    function = (_ON_BOOL if want.dtype == BOOL else _ARITHMETIC)[sign]
    return Expr(
        want, f"({{0}} {sign} {{1}})", *operands(grow, want.shape, types, depth),
        value=lambda a, b: computed(function, want.dtype, *spread(a, b)),
    )  # fmt: skip


@rule(2)
def with_number(grow: Grower, want: Kind, depth: int) -> Expr | None:
    """A Python number takes the dtype of the tensor."""
    if want.dtype.family not in "iuf":
        return None
    sign, number = grow.pick(_ARITHMETIC), grow.number(want.dtype)
    if want.dtype in (F16, BF16) and number != convert(np.float64(number), want.dtype):
        return None
    template = f"({{0}} {sign} {tree.written(number)})"
    first = grow.chance(0.7)
    if not first:
        template = f"({tree.written(number)} {sign} {{0}})"
    fixed = np.asarray(number).astype(want.dtype.numpy)
    return Expr(
        want, template, grow.expr(want, depth),
        value=lambda a: computed(
            _ARITHMETIC[sign], want.dtype, *spread(*((a, fixed) if first else (fixed, a)))
        ),
    )  # fmt: skip


@rule(2)
def bitwise(grow: Grower, want: Kind, depth: int) -> Expr | None:
    if not want.dtype.is_integer:
        return None
    sign = grow.pick(_BITWISE)
    return Expr(
        want, f"({{0}} {sign} {{1}})", *operands(grow, want.shape, _types(grow, want.dtype), depth),
        value=lambda a, b: computed(_BITWISE[sign], want.dtype, *spread(a, b)),
    )  # fmt: skip


@rule(1.5)
def shift(grow: Grower, want: Kind, depth: int) -> Expr | None:
    if want.dtype.family not in "iu":
        return None
    left = grow.chance(0.5)
    types = _types(grow, want.dtype)
    signed = types[0].family == "i"
    return Expr(
        want, "({0} << {1})" if left else "({0} >> {1})",
        *operands(grow, want.shape, types, depth),
        value=lambda a, b: dtypes.shifted(*spread(a, b), left, want.dtype, signed),
    )  # fmt: skip


@rule(1.5)
def integer_division(grow: Grower, want: Kind, depth: int) -> Expr | None:
    if want.dtype.family not in "iu":
        return None
    types = [(a, b) for a, b in pairs(want.dtype, divides=True) if BOOL not in (a, b)]
    whole = grow.chance(0.5)
    function = dtypes.quotient if whole else dtypes.remainder
    return Expr(
        want, "({0} // ({1} | 1))" if whole else "({0} % ({1} | 1))",
        *operands(grow, want.shape, grow.pick(types), depth),
        value=lambda a, b: computed(
            function, want.dtype, *spread(a, b | b.dtype.type(1))
        ),
    )  # fmt: skip


@rule(1)
def float_remainder(grow: Grower, want: Kind, depth: int) -> Expr | None:
    if want.dtype not in WIDE:
        return None
    return Expr(
        want, "({0} % {1})", *operands(grow, want.shape, (want.dtype,) * 2, depth),
        value=lambda a, b: np.fmod(*spread(a, b)),
    )  # fmt: skip


@rule(1)
def division(grow: Grower, want: Kind, depth: int) -> Expr | None:
    if want.dtype not in WIDE or (want.dtype == F32 and grow.level == 0):
        return None
    types = [pair for pair in pairs(want.dtype, divides=True) if BOOL not in pair]
    return Expr(
        want, "({0} / {1})", *operands(grow, want.shape, grow.pick(types), depth),
        value=lambda a, b: computed(np.divide, want.dtype, *spread(a, b)),
    )  # fmt: skip


@rule(4)
def compare(grow: Grower, want: Kind, depth: int) -> Expr | None:
    if want.dtype != BOOL:
        return None
    sign = grow.pick(_COMPARISONS)
    while promoted(*(types := (grow.dtype(), grow.dtype()))) is None:
        pass
    if grow.chance(0.6):
        types = (types[0], types[0]) if types[0].family != "8" else (F32, F32)
    both = promoted(*types)
    return Expr(
        want, f"({{0}} {sign} {{1}})", *operands(grow, want.shape, types, depth),
        value=lambda a, b: _COMPARISONS[sign](*(convert(x, both) for x in spread(a, b))),
    )  # fmt: skip


@rule(1)
def unary(grow: Grower, want: Kind, depth: int) -> Expr | None:
    if want.dtype.family == "8":
        return None
    rows: list[tuple[str, Any]] = []
    if want.dtype.is_integer:
        rows += [("(~{0})", np.invert)]
    if want.dtype != BOOL:
        rows += [("(-{0})", np.negative), ("tl.abs({0})", np.abs)]
    template, function = grow.pick(rows)
    return Expr(want, template, grow.expr(want, depth), value=lambda a: function(a))


# -- choices --------------------------------------------------------------------------------------


@rule(3)
def where(grow: Grower, want: Kind, depth: int) -> Expr | None:
    types = (want.dtype,) * 2 if want.dtype.family == "8" else _types(grow, want.dtype)
    kids = operands(grow, want.shape, (BOOL, *types), depth)
    return Expr(
        want, "tl.where({0}, {1}, {2})", *kids,
        value=lambda c, a, b: np.where(c, convert(a, want.dtype), convert(b, want.dtype)),
    ) if np.broadcast_shapes(*(kid.kind.shape for kid in kids)) == want.shape else None  # fmt: skip


def _number_of(function: Any, a: Any, b: Any) -> Any:
    """NaN only where both are. np.fmin and np.fmax of fp32 are NaN for signaling NaNs, too."""
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, function(a, b)))


def smaller(a: Any, b: Any) -> Any:
    """A number wins over a NaN, and -0 is less than +0."""
    if a.dtype.kind in "biu":
        return np.minimum(a, b)
    result = _number_of(np.minimum, a, b)
    return np.where((a == b) & (np.signbit(a) | np.signbit(b)) & (a == 0), -abs(a), result)


def larger(a: Any, b: Any) -> Any:
    if a.dtype.kind in "biu":
        return np.maximum(a, b)
    result = _number_of(np.maximum, a, b)
    return np.where((a == b) & (a == 0) & ~(np.signbit(a) & np.signbit(b)), abs(a), result)


def _nan_or(function: Any) -> Any:
    return lambda a, b: np.where(np.isnan(a) | np.isnan(b), np.nan, function(a, b)).astype(a.dtype)


@rule(1.5)
def extreme(grow: Grower, want: Kind, depth: int) -> Expr | None:
    if want.dtype.family not in "iuf" or want.dtype == BF16:
        return None
    name, function = grow.pick([("minimum", smaller), ("maximum", larger)])
    types = _types(grow, want.dtype)
    if BF16 in types:
        types = (want.dtype, want.dtype)
    more = ""
    if want.dtype.is_float and grow.chance(0.4):
        more, function = ", tl.PropagateNan.ALL", _nan_or(function)
    return Expr(
        want, f"tl.{name}({{0}}, {{1}}{more})", *operands(grow, want.shape, types, depth),
        value=lambda a, b: computed(function, want.dtype, *spread(a, b)),
    )  # fmt: skip


@rule(0.7)
def clamp(grow: Grower, want: Kind, depth: int) -> Expr | None:
    if want.dtype not in (F16, F32, F64):
        return None
    low, high = sorted(grow.pick([-8.0, -1.0, 0.0, 0.5, 3.0, 100.0]) for _ in range(2))
    if low == high:
        return None
    return Expr(
        want, f"tl.clamp({{0}}, {low}, {high})", grow.expr(want, depth),
        value=lambda a: computed(
            lambda x: smaller(larger(x, x.dtype.type(low)), x.dtype.type(high)), want.dtype, a
        ),
    )  # fmt: skip


# -- casts ----------------------------------------------------------------------------------------


@rule(4)
def cast(grow: Grower, want: Kind, depth: int) -> Expr | None:
    source = grow.dtype()
    if source == want.dtype:
        return None
    if "8" in (source.family, want.dtype.family) and not (source.is_float and want.dtype.is_float):
        return None
    template = grow.pick(["{0}.to(%s)", "tl.cast({0}, %s)"])
    operand = grow.expr(Kind(source, want.shape), depth)
    return Expr(
        want, template % want.dtype, operand, value=lambda a: convert(a, want.dtype)
    )  # fmt: skip


@rule(1)
def bitcast(grow: Grower, want: Kind, depth: int) -> Expr | None:
    """Of floats only what was loaded: the bits of a NaN that was computed are open."""
    if want.dtype.bits == 1:
        return None
    source = grow.pick(d for d in DTYPES.values() if d.bits == want.dtype.bits and d != want.dtype)
    from random_kernels import memory

    kind = Kind(source, want.shape)
    if source.is_float and grow.is_function:
        return None
    operand = memory.load(grow, kind) if source.is_float else grow.expr(kind, depth)
    return Expr(
        want, f"{{0}}.to({want.dtype}, bitcast=True)", operand,
        value=lambda a: np.ascontiguousarray(a).reshape(a.shape).view(want.dtype.numpy),
    )  # fmt: skip


# -- functions ------------------------------------------------------------------------------------


@rule(0.7)
def whole(grow: Grower, want: Kind, depth: int) -> Expr | None:
    if want.dtype not in WIDE:
        return None
    name, function = grow.pick([("floor", np.floor), ("ceil", np.ceil)])
    return Expr(want, f"tl.{name}({{0}})", grow.expr(want, depth), value=lambda a: function(a))


@rule(0.5)
def rounded(grow: Grower, want: Kind, depth: int) -> Expr | None:
    """The forms that are rounded to nearest on every device."""
    if want.dtype != F32:
        return None
    if grow.chance(0.4):
        return Expr(want, "tl.sqrt_rn({0})", grow.expr(want, depth), value=lambda a: np.sqrt(a))
    return Expr(
        want, grow.pick(["tl.div_rn({0}, {1})", "tl.fdiv({0}, {1}, ieee_rounding=True)"]),
        *operands(grow, want.shape, (F32, F32), depth), value=lambda a, b: np.divide(*spread(a, b)),
    )  # fmt: skip


@rule(0.5)
def fma(grow: Grower, want: Kind, depth: int) -> Expr | None:
    if want.dtype != F32:
        return None
    return Expr(
        want, "tl.fma({0}, {1}, {2})", *operands(grow, want.shape, (F32,) * 3, depth),
        value=lambda a, b, c: dtypes.fma32(*spread(a, b, c)),
    )  # fmt: skip


@rule(0.5)
def high_product(grow: Grower, want: Kind, depth: int) -> Expr | None:
    if want.dtype.family not in "iu" or want.dtype.bits < 32:
        return None
    bits = want.dtype.bits
    unsigned = f"u{bits // 8}"

    def value(a: Any, b: Any) -> Any:
        a, b = (np.ascontiguousarray(x).view(unsigned) for x in spread(a, b))
        flat = [int(x) * int(y) >> bits for x, y in zip(a.reshape(-1), b.reshape(-1))]
        return np.array(flat, unsigned).reshape(want.shape).view(want.dtype.numpy)

    return Expr(
        want, "tl.umulhi({0}, {1})", *operands(grow, want.shape, (want.dtype,) * 2, depth),
        value=value,
    )  # fmt: skip


_INEXACT = ("exp", "exp2", "log", "log2", "sin", "cos", "sqrt", "rsqrt", "erf", "sigmoid")


@rule(4, level=2)
def function(grow: Grower, want: Kind, depth: int) -> Expr | None:
    if want.dtype not in WIDE:
        return None
    name = grow.pick(_INEXACT)
    return Expr(
        want, f"tl.{name}({{0}})", grow.expr(want, depth), value=lambda a: np.full_like(a, 1)
    )  # fmt: skip
