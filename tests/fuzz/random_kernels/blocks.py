"""Rules: shapes, reductions, scans, sorts, gathers, histograms, dots."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from random_kernels.dtypes import (
    BF16,
    BOOL,
    DTYPES,
    F16,
    F32,
    F64,
    FP8,
    I32,
    I64,
    INTEGERS,
    U32,
    DType,
    computed,
    convert,
)  # fmt: skip
from random_kernels.elementwise import larger, smaller
from random_kernels.grow import Grower, rule
from random_kernels.tree import Expr, Kind, scalar

# -- shapes ---------------------------------------------------------------------------------------


@rule(0.7)
def arange(grow: Grower, want: Kind, depth: int) -> Expr | None:
    if want.dtype != I32 or len(want.shape) != 1:
        return None
    first = grow.pick([0, 0, 0, 5, 1000])
    (size,) = want.shape
    return Expr(
        want, f"tl.arange({first}, {first + size})",
        value=lambda: np.arange(first, first + size, dtype=np.int32),
    )  # fmt: skip


@rule(0.4)
def program(grow: Grower, want: Kind, depth: int) -> Expr | None:
    if want != Kind(I32):
        return None
    axis, what = grow.pick([0, 1]), grow.pick(["program", "grid"])
    name = {"program": "program_id", "grid": "num_programs"}[what]
    return Expr(
        want, f"tl.{name}({axis})", state=True,
        value=lambda state: np.int32(getattr(state, what)[axis]),
    )  # fmt: skip


@rule(1)
def argument(grow: Grower, want: Kind, depth: int) -> Expr | None:
    names = [name for name, value in grow.scalars.items() if value.dtype == want.dtype.numpy]
    if want.shape or not names or grow.is_function:
        return None
    return scalar(want, grow.pick(names))


@rule(0.6)
def broadcast_to(grow: Grower, want: Kind, depth: int) -> Expr | None:
    if not want.shape:
        return None
    shape = tuple(1 if grow.chance(0.5) else size for size in want.shape)
    return Expr(
        want, f"tl.broadcast_to({{0}}, {list(want.shape)})",
        grow.expr(Kind(want.dtype, shape), depth),
        value=lambda a: np.broadcast_to(a, want.shape),
    )  # fmt: skip


@rule(1.2)
def new_axis(grow: Grower, want: Kind, depth: int) -> Expr | None:
    ones = [axis for axis, size in enumerate(want.shape) if size == 1]
    if not ones:
        return None
    axis = grow.pick(ones)
    shape = (*want.shape[:axis], *want.shape[axis + 1 :])
    template = f"tl.expand_dims({{0}}, {axis})"
    if shape and grow.chance(0.6):
        index = ", ".join("None" if a == axis else ":" for a in range(len(want.shape)))
        template = f"{{0}}[{index}]"
    return Expr(
        want, template, grow.expr(Kind(want.dtype, shape), depth),
        value=lambda a: np.expand_dims(a, axis),
    )  # fmt: skip


@rule(1)
def reshape(grow: Grower, want: Kind, depth: int) -> Expr | None:
    if not want.shape:
        return None
    for _ in range(8):
        shape = grow.shape()
        if shape and shape != want.shape and np.prod(shape) == want.size:
            return Expr(
                want, f"tl.reshape({{0}}, {list(want.shape)})",
                grow.expr(Kind(want.dtype, shape), depth), value=lambda a: a.reshape(want.shape),
            )  # fmt: skip
    return None


@rule(1)
def transpose(grow: Grower, want: Kind, depth: int) -> Expr | None:
    rank = len(want.shape)
    if rank < 2:
        return None
    order = grow.random.sample(range(rank), rank)
    shape = [0] * rank
    for place, axis in enumerate(order):
        shape[axis] = want.shape[place]
    return Expr(
        want, f"tl.permute({{0}}, {order})", grow.expr(Kind(want.dtype, tuple(shape)), depth),
        value=lambda a: np.transpose(a, order),
    )  # fmt: skip


@rule(0.5)
def join(grow: Grower, want: Kind, depth: int) -> Expr | None:
    if not want.shape or want.shape[-1] != 2:
        return None
    kind = Kind(want.dtype, want.shape[:-1])
    return Expr(
        want, "tl.join({0}, {1})", grow.expr(kind, depth), grow.expr(kind, depth),
        value=lambda a, b: np.stack([a, b], -1),
    )  # fmt: skip


@rule(0.5)
def split(grow: Grower, want: Kind, depth: int) -> Expr | None:
    if len(want.shape) > 2 or 2 * want.size > grow.largest:
        return None
    half = grow.pick([0, 1])
    return Expr(
        want, f"tl.split({{0}})[{half}]", grow.expr(Kind(want.dtype, (*want.shape, 2)), depth),
        value=lambda a: a[..., half],
    )  # fmt: skip


@rule(0.6)
def concatenate(grow: Grower, want: Kind, depth: int) -> Expr | None:
    if not want.shape or want.shape[-1] < 2:
        return None
    kind = Kind(want.dtype, (*want.shape[:-1], want.shape[-1] // 2))
    interleaves = grow.chance(0.5)
    template = "tl.interleave({0}, {1})" if interleaves else (
        f"tl.cat({{0}}, {{1}}, dim={len(want.shape) - 1})")  # fmt: skip
    return Expr(
        want, template, grow.expr(kind, depth), grow.expr(kind, depth),
        value=lambda a, b: np.stack([a, b], -1).reshape(want.shape) if interleaves else (
            np.concatenate([a, b], -1)),
    )  # fmt: skip


@rule(0.5)
def flip(grow: Grower, want: Kind, depth: int) -> Expr | None:
    if not want.shape:
        return None
    axis = grow.random.randrange(len(want.shape))
    return Expr(
        want, f"tl.flip({{0}}, {axis})", grow.expr(want, depth), value=lambda a: np.flip(a, axis)
    )


@rule(0.8)
def gather(grow: Grower, want: Kind, depth: int) -> Expr | None:
    if not want.shape:
        return None
    axis = grow.random.randrange(len(want.shape))
    size = grow.pick([2, 8, 32])
    shape = (*want.shape[:axis], size, *want.shape[axis + 1 :])
    if np.prod(shape) > grow.largest:
        return None
    return Expr(
        want, f"tl.gather({{0}}, {{1}} & {size - 1}, {axis})",
        grow.expr(Kind(want.dtype, shape), depth), grow.expr(Kind(I32, want.shape), depth),
        value=lambda a, i: np.take_along_axis(a, i & (size - 1), axis),
    )  # fmt: skip


# -- reductions and scans -------------------------------------------------------------------------


def halves(x: Any, axis: int, combine: Callable[..., Any]) -> Any:
    """The documented order: element i with i + n/2, then with i + n/4, ..."""
    x = np.moveaxis(x, axis, 0)
    while x.shape[0] > 1:
        half = x.shape[0] // 2
        x = combine(x[:half], x[half:])
    return x[0]


def steps(x: Any, axis: int, combine: Callable[..., Any], reverse: bool) -> Any:
    """The documented order: y[i] from y[i - d] and y[i] for d = 1, 2, 4, ..."""
    x = np.moveaxis(x, axis, 0)
    x = x[::-1] if reverse else x
    distance = 1
    while distance < x.shape[0]:
        x = np.concatenate([x[:distance], combine(x[:-distance], x[distance:])])
        distance *= 2
    return np.moveaxis(x[::-1] if reverse else x, 0, axis)


def _summed(dtype: DType) -> DType:
    if dtype.is_integer and dtype.bits < 32:
        return I32 if dtype.family == "i" else U32
    return dtype


def _extreme_type(dtype: DType) -> DType:
    if dtype.bits < 32:
        return F32 if dtype.is_float else I32
    return dtype


def _combined(function: Callable[..., Any], dtype: DType) -> Callable[..., Any]:
    return lambda a, b: computed(function, dtype, a, b)


def _mild(grow: Grower, kind: Kind, depth: int) -> Expr:
    """What is summed where sums may round: whether it overflows must not depend on the order."""
    if grow.level == 0 or kind.dtype not in (F16, F32, F64):
        return grow.small(kind, depth)

    def value(x: Any) -> Any:
        return computed(
            lambda x: smaller(larger(x, x.dtype.type(-99)), x.dtype.type(99)), kind.dtype, x
        )

    return Expr(kind, "tl.clamp({0}, -99.0, 99.0)", grow.expr(kind, depth), value=value)


def _reduced(grow: Grower, shape: tuple[int, ...]) -> tuple[tuple[int, ...], int] | None:
    """The shape before one axis is reduced away, and the axis."""
    if len(shape) > 2:
        return None
    axis, size = grow.random.randrange(len(shape) + 1), grow.pick([1, 2, 4, 8, 16, 32, 64])
    before = (*shape[:axis], size, *shape[axis:])
    return (before, axis) if np.prod(before) <= grow.largest else None


_NUMBERS = [*INTEGERS, BOOL, F16, BF16, F32, F64]


@rule(3)
def reduce(grow: Grower, want: Kind, depth: int) -> Expr | None:
    """Sums, extremes and so on along an axis."""
    chosen = _reduced(grow, want.shape)
    if chosen is None or want.dtype.family == "8":
        return None
    shape, axis = chosen
    keep = grow.chance(0.2)
    rows: list[tuple[str, DType, Callable[..., Any], bool]] = []
    for dtype in _NUMBERS:
        summed = _summed(dtype)
        if summed == want.dtype and dtype != BOOL:
            rows.append(("sum", dtype, _combined(np.add, summed), dtype.is_float))
        if summed == want.dtype == U32 and dtype == BOOL:
            rows.append(("sum", dtype, _combined(np.add, summed), False))
        if _extreme_type(dtype) == want.dtype and dtype != BOOL:
            rows.append(("max", dtype, _combined(larger, want.dtype), False))
            rows.append(("min", dtype, _combined(smaller, want.dtype), False))
    if want.dtype.family in "iu":
        rows.append(("xor_sum", want.dtype, np.bitwise_xor, False))
        rows.append(("reduce_or", want.dtype, np.bitwise_or, False))
    if not rows:
        return None
    name, dtype, combine, rounds = grow.pick(rows)
    kind = Kind(dtype, shape)
    operand = _mild(grow, kind, depth) if rounds else grow.expr(kind, depth)
    text = f"tl.{name}({{0}}, {axis}" + (", keep_dims=True)" if keep else ")")
    if keep:
        text = f"tl.reshape({text}, {list(want.shape)})" if want.shape else f"tl.max({text})"
        if not want.shape and want.dtype.bits < 32:
            return None
    return Expr(
        want, text, operand,
        value=lambda a: np.asarray(halves(convert(a, want.dtype), axis, combine)).astype(
            want.dtype.numpy),
    )  # fmt: skip


@rule(0.7)
def index_of(grow: Grower, want: Kind, depth: int) -> Expr | None:
    chosen = _reduced(grow, want.shape)
    if chosen is None or want.dtype != I32:
        return None
    shape, axis = chosen
    name, function = grow.pick([("argmax", np.argmax), ("argmin", np.argmin)])
    dtype = grow.pick([*INTEGERS, F16, BF16, F32, F64])

    def value(a: Any) -> Any:
        if a.dtype.kind in "iu":
            return function(a, axis).astype(np.int32)
        a = a.astype(np.float64)
        missing = np.isnan(a)
        worst = -np.inf if name == "argmax" else np.inf
        # A number wins over a NaN, an infinity too; among NaNs the first.
        rank = np.where(missing, worst, a)
        found = function(rank, axis)
        best = np.take_along_axis(rank, np.expand_dims(found, axis), axis)
        equal = (rank == best) & (~missing | missing.all(axis, keepdims=True))
        return np.argmax(equal, axis).astype(np.int32)

    return Expr(want, f"tl.{name}({{0}}, {axis})", grow.expr(Kind(dtype, shape), depth),
                value=value)  # fmt: skip


@rule(0.5)
def reduce_by_function(grow: Grower, want: Kind, depth: int) -> Expr | None:
    chosen = _reduced(grow, want.shape)
    if chosen is None or want.dtype.family not in "iu":
        return None
    shape, axis = chosen
    kind = Kind(want.dtype, shape)
    if grow.chance(0.5):
        name, combine = grow.pick(
            [("combine_linear", lambda a, b: a * b + (a + b)), ("combine_last", lambda a, b: b)]
        )
        return Expr(
            want, f"tl.reduce({{0}}, {axis}, {name})", grow.expr(kind, depth),
            value=lambda a: halves(a, axis, combine),
        )  # fmt: skip

    def value(a: Any, b: Any) -> Any:
        pair = np.stack(np.broadcast_arrays(a, b), -1)
        return halves(
            pair, axis,
            lambda x, y: np.stack([x[..., 0] * y[..., 0], x[..., 0] * y[..., 1] + x[..., 1]], -1),
        )[..., which]  # fmt: skip

    which = grow.pick([0, 1])
    return Expr(
        want, f"tl.reduce(({{0}}, {{1}}), {axis}, combine_pair)[{which}]",
        grow.expr(kind, depth), grow.expr(kind, depth), value=value,
    )  # fmt: skip


@rule(1.5)
def scan(grow: Grower, want: Kind, depth: int) -> Expr | None:
    if not want.shape or want.dtype.family not in "iuf" or want.dtype == BF16:
        return None
    axis, reverse = grow.random.randrange(len(want.shape)), grow.chance(0.4)
    more = f"{axis}, reverse={reverse}"
    rows: list[Any] = []
    for dtype in _NUMBERS:
        to = F32 if dtype == BF16 else _summed(dtype)
        if to == want.dtype:
            rows.append((f"tl.cumsum({{0}}, {more})", dtype, _combined(np.add, to)))
            if dtype.is_integer or grow.level > 0:
                rows.append((f"tl.cumprod({{0}}, {more})", dtype, _combined(np.multiply, to)))
    if want.dtype.is_integer:
        text = "tl.associative_scan({0}, %d, %s, reverse=%s)"
        rows += 2 * [
            (text % (axis, "combine_last", reverse), want.dtype, lambda a, b: b),
            (text % (axis, "combine_linear", reverse), want.dtype, lambda a, b: a * b + (a + b)),
        ]
    if not rows:
        return None
    template, dtype, combine = grow.pick(rows)
    kind = Kind(dtype, want.shape)
    if dtype.is_integer:
        operand = grow.expr(kind, depth)
    else:
        product = "cumprod" in template
        operand = grow.small(kind, depth) if product else _mild(grow, kind, depth)
    return Expr(
        want, template, operand,
        value=lambda a: steps(convert(a, want.dtype), axis, combine, reverse),
    )  # fmt: skip


# -- sorting and counting -------------------------------------------------------------------------


def _sorted(x: Any, descending: bool) -> Any:
    """-0 before +0, NaN last (first when descending)."""
    if x.dtype.kind in "iu" or x.dtype == np.bool_:
        result = np.sort(x, -1)
    else:
        signed = np.ascontiguousarray(x).view(f"i{x.dtype.itemsize}").astype(np.int64)
        top = np.int64(1) << np.int64(8 * x.dtype.itemsize - 1)
        key = np.where(signed < 0, ~(signed & (top - 1)), signed)
        key = np.where(np.isnan(x.astype(np.float64)), np.iinfo(np.int64).max, key)
        result = np.take_along_axis(x, np.argsort(key, -1, kind="stable"), -1)
    return result[..., ::-1] if descending else result


@rule(0.8)
def sort(grow: Grower, want: Kind, depth: int) -> Expr | None:
    if not want.shape or want.dtype.family not in "iuf":
        return None
    descending = grow.chance(0.5)
    more = 1
    template = f"tl.sort({{0}}, descending={descending})"
    if grow.chance(0.3):
        more, descending = grow.pick([1, 2, 4]), True
        template = f"tl.topk({{0}}, {want.shape[-1]})"
    shape = (*want.shape[:-1], want.shape[-1] * more)
    if np.prod(shape) > grow.largest:
        return None
    return Expr(
        want, template, grow.expr(Kind(want.dtype, shape), depth),
        value=lambda a: _sorted(a, descending)[..., : want.shape[-1]],
    )  # fmt: skip


@rule(0.6)
def histogram(grow: Grower, want: Kind, depth: int) -> Expr | None:
    if len(want.shape) != 1 or want.dtype != I32:
        return None
    (bins,) = want.shape
    dtype, size = grow.pick([I32, I64, U32]), grow.pick([1, 16, 32, 128])
    kids = [grow.expr(Kind(dtype, (size,)), depth)]
    masked = grow.chance(0.4)
    if masked:
        kids.append(grow.expr(Kind(BOOL, (size,)), depth))

    def value(a: Any, mask: Any = None) -> Any:
        a = (a & (bins - 1)).astype(np.int64)
        chosen = a if mask is None else a[mask]
        return np.bincount(chosen, minlength=bins).astype(np.int32)

    more = ", mask={1}" if masked else ""
    return Expr(want, f"tl.histogram({{0}} & {bins - 1}, {bins}{more})", *kids, value=value)


# -- dots -----------------------------------------------------------------------------------------


@rule(1.5)
def dot(grow: Grower, want: Kind, depth: int) -> Expr | None:
    """Of small whole numbers, which every precision and order sums exactly."""
    if len(want.shape) != 2 or want.dtype not in (F32, I32, F64, F16):
        return None
    rows, columns = want.shape
    inner = grow.pick([16, 32] if grow.chance(0.7) else [1, 2, 4, 8])
    if max(rows, columns) * inner > 512:
        return None
    types = {F32: [F16, BF16, F32, *FP8], I32: [DTYPES["int8"]], F64: [F64], F16: [F16]}
    dtype = grow.pick(types[want.dtype])
    kids = [
        grow.small(Kind(dtype, (rows, inner)), min(depth, 1)),
        grow.small(Kind(dtype, (inner, columns)), min(depth, 1)),
    ]
    more = ""
    if grow.chance(0.5):
        more = ", {2}"
        kids.append(grow.small(want, min(depth, 1)))
    if dtype == F32:
        more += grow.pick(["", *(f', input_precision="{p}"' for p in ("tf32", "ieee", "tf32x3"))])
    if want.dtype == F16:
        more += ", out_dtype=tl.float16"

    def value(a: Any, b: Any, c: Any = 0) -> Any:
        exact = a.astype(np.float64) @ b.astype(np.float64) + np.asarray(c).astype(np.float64)
        return exact.astype(want.dtype.numpy)

    return Expr(want, f"tl.dot({{0}}, {{1}}{more})", *kids, value=value)
