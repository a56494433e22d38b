"""Rules: what Python writes on scalars, constants of the launch, random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from random_kernels.dtypes import BOOL, F32, F64, I32, I64, U32, computed
from random_kernels.elementwise import larger, smaller, spread
from random_kernels.grow import Grower, rule
from random_kernels.tree import Expr, Kind


@rule(1)
def choice(grow: Grower, want: Kind, depth: int) -> Expr | None:
    """``a if condition else b``, of blocks too."""
    return Expr(
        want, "({1} if {0} else {2})", grow.expr(Kind(BOOL), depth), grow.expr(want, depth),
        grow.expr(want, depth), value=lambda c, a, b: a if c else b,
    )  # fmt: skip


@rule(1)
def logic(grow: Grower, want: Kind, depth: int) -> Expr | None:
    if want != Kind(BOOL):
        return None
    kids = [grow.expr(want, depth), grow.expr(want, depth)]
    text, value = grow.pick([
        ("({0} and {1})", lambda a, b: np.logical_and(a, b)),
        ("({0} or {1})", lambda a, b: np.logical_or(a, b)),
        ("(not {0})", lambda a: np.logical_not(a)),
    ])  # fmt: skip
    return Expr(want, text, *kids[: 1 if "not" in text else 2], value=value)


@rule(0.5)
def builtin_extreme(grow: Grower, want: Kind, depth: int) -> Expr | None:
    if want.dtype not in (I32, I64, U32, F32, F64):
        return None
    name, function = grow.pick([("min", smaller), ("max", larger)])
    return Expr(
        want, f"{name}({{0}}, {{1}})", grow.expr(want, depth), grow.expr(want, depth),
        value=lambda a, b: function(*spread(a, b)),
    )  # fmt: skip


@rule(1.5)
def with_constant(grow: Grower, want: Kind, depth: int) -> Expr | None:
    """A tl.constexpr of the kernel behaves as the number that it is."""
    if want.dtype.family not in "iu" or grow.is_function:
        return None
    number = grow.pick([0, 1, 2, 5, 16, 100])
    known = [name for name, value in grow.constants.items() if value == number]
    name = grow.pick(known) if known else grow.name("K")
    grow.constants[name] = number
    sign, function = grow.pick([("+", np.add), ("*", np.multiply), ("-", np.subtract)])
    fixed = np.asarray(number).astype(want.dtype.numpy)
    return Expr(
        want, f"({{0}} {sign} {name})", grow.expr(want, depth),
        value=lambda a: computed(function, want.dtype, *spread(a, fixed)),
    )  # fmt: skip


@rule(0.5)
def all_reduced(grow: Grower, want: Kind, depth: int) -> Expr | None:
    """Of all elements, and extremes with their indices."""
    if want.shape or want.dtype not in (I32, I64):
        return None
    shape = grow.shape()
    if not shape:
        return None
    kind = Kind(want.dtype, shape)
    rows: list[tuple[str, Any]] = [
        ("tl.max({0})", lambda a: a.max()), ("tl.min({0})", lambda a: a.min()),
        ("tl.sum({0})", lambda a: a.sum(dtype=a.dtype)),
        ("tl.xor_sum({0})", lambda a: np.bitwise_xor.reduce(a, None)),
    ]  # fmt: skip
    if want.dtype == I32:
        rows += [
            ("tl.argmax({0}, None)", lambda a: np.int32(np.argmax(a))),
            ("tl.max({0}, None, return_indices=True)[1]", lambda a: np.int32(np.argmax(a))),
            ("tl.min({0}, None, return_indices=True)[0]", lambda a: a.min()),
        ]
    text, value = grow.pick(rows)
    return Expr(want, text, grow.expr(kind, depth), value=value)


@rule(0.5)
def hint(grow: Grower, want: Kind, depth: int) -> Expr | None:
    """What is true of every block."""
    if not want.shape or want.dtype.family not in "iu":
        return None
    name = grow.pick(["multiple_of", "max_contiguous", "max_constancy"])
    return Expr(
        want, f"tl.{name}({{0}}, {[1] * len(want.shape)})", grow.expr(want, depth),
        value=lambda a: a,
    )  # fmt: skip


def _philox(seed: Any, counter: Any) -> Any:
    """The first word of Philox 4x32-10 of a 64-bit seed (Salmon et al., SC 2011)."""
    words = [counter.astype(np.uint32), *(np.zeros_like(counter, np.uint32) for _ in range(3))]
    key = [np.uint32(seed & 0xFFFFFFFF), np.uint32(seed >> 32 & 0xFFFFFFFF)]
    for _ in range(10):
        first = words[0].astype(np.uint64) * np.uint64(0xD2511F53)
        third = words[2].astype(np.uint64) * np.uint64(0xCD9E8D57)
        words = [
            (third >> np.uint64(32)).astype(np.uint32) ^ words[1] ^ key[0],
            third.astype(np.uint32),
            (first >> np.uint64(32)).astype(np.uint32) ^ words[3] ^ key[1],
            first.astype(np.uint32),
        ]
        key = [key[0] + np.uint32(0x9E3779B9), key[1] + np.uint32(0xBB67AE85)]
    return words[0]


@rule(0.4)
def random_number(grow: Grower, want: Kind, depth: int) -> Expr | None:
    """``tl.randint`` of 32-bit places."""
    if want.dtype != U32 or not want.shape:
        return None
    seed = grow.pick([0, 7, (5 << 32) + 3])
    return Expr(
        want, f"tl.randint({seed}, {{0}}).to(tl.uint32)", grow.expr(Kind(I32, want.shape), depth),
        value=lambda at: _philox(seed, at),
    )  # fmt: skip
