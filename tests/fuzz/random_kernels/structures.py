"""Rules: values that go through aggregates, tuples, calls with keywords and functions of elements;
statements that keep such values in one variable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from random_kernels import statements, tree
from random_kernels.dtypes import BOOL, I32, computed
from random_kernels.grow import Grower, rule
from random_kernels.memory import region
from random_kernels.tree import CONDITION, Expr, Kind, Var

# -- expressions ----------------------------------------------------------------------------------

# Each gives the first of its operands; the second one has a kind of its own.
_FIRST = [
    "({0}, {1})[0]", "({1}, ({1}, {0}))[1][1]", "({1}, {1}, {0})[-1]",
    "({1}, {0})[1:][0]", "(({1},) + ({0},))[1]",
    "Corner({1}, {0}).y", "Corner(y={1}, x={0}).x", "Corner({0}, {1})[0]",
    "Corner({1}, ({0},)).y[0]",
    "Pair({0}, {1}).first", "Pair(second={0}, first={1}).second", "Pair({1}, {0}).swapped().first",
    "tl.aggregate_replace(Pair({1}, {1}), first={0}).first", "(Pair({0}, {1}), {1})[0].first",
    "both({0}, {1})[0]", "both(SWAPS=True, a={1}, b={0})[0]", "both({1}, b={0}, SWAPS=True)[0]",
    "keyed({0}, {1})[0]", "keyed({1}, {1}, last={0})[0]", "keyed({1}, b={0}, MODE=1)[0]",
    "keyed({1}, {0}, 1)[1]", "keyed(b={0}, a={1}, MODE=3)[1]",
    "(lambda a, b: a)({0}, {1})",
]  # fmt: skip


@rule(2.5)
def taken_apart(grow: Grower, want: Kind, depth: int) -> Expr | None:
    """Two values put together and one taken out again."""
    other = grow.pick([want, Kind(grow.dtype(), want.shape), Kind(grow.dtype(), grow.shape())])
    return Expr(
        want, grow.pick(_FIRST), grow.expr(want, depth), grow.expr(other, max(0, depth - 1)),
        value=lambda a, b: a,
    )  # fmt: skip


@rule(0.7)
def method(grow: Grower, want: Kind, depth: int) -> Expr | None:
    """An aggregate's method that takes another aggregate."""
    if not want.shape:
        return None
    kids = [grow.expr(Kind(BOOL, want.shape), depth), grow.expr(want, depth)]
    return Expr(
        want, "Pair({1}, {2}).chosen({0}, Pair({2}, {0})).first", *kids, grow.expr(want, depth),
        value=lambda c, a, b: np.where(c, a, b),
    )  # fmt: skip


@rule(1)
def window(grow: Grower, want: Kind, depth: int) -> Expr | None:
    """A load by an aggregate that holds a pointer and a constant."""
    if grow.is_function or not want.shape:
        return None
    step = grow.pick([1, 1, 2])
    if want.size * step + 8 > grow.input_size:
        return None
    buffer, first = grow.input(want.dtype), grow.pick([0, 0, 3])
    kids = [region(grow, want.shape, "0", lambda state: 0)]
    start = str(first)
    if grow.chance(0.3):
        kids.append(grow.expr(Kind(I32), depth))
        start = f"({{1}} & 3) + {first}"
    more = grow.pick(["", f", STEP={step}", f", {step}"])
    if not more:
        step = 1

    def value(state: tree.State, offsets: Any, moved: Any = 0) -> Any:
        return state.memory[buffer.name][offsets * step + first + (int(moved) & 3)]

    return Expr(
        want, f"Window({buffer.name}, {start}{more}).load({{0}})", *kids, value=value, state=True
    )


@rule(1)
def mapped(grow: Grower, want: Kind, depth: int) -> Expr | None:
    """tl.map_elementwise: functions of scalars, each element with branches and loops of its own."""
    if not want.shape or want.dtype.family not in "iuf" or want.dtype.bits < 16:
        return None
    if want.dtype.is_float and want.dtype.bits < 32:
        return None
    kids = [grow.expr(want, depth), grow.expr(want, depth)]
    rows: list[tuple[str, Callable[..., Any]]] = [
        ("tl.map_elementwise(map_ordered, {0}, {1})", lambda a, b: np.where(
            a < b, computed(np.subtract, want.dtype, b, a), a)),
    ]  # fmt: skip
    if want.shape[-1] > 1:
        rows += [
            (
                "tl.map_elementwise(map_couples, {0}, {1}, pack=2)[0]",
                lambda a, b: _couples(a, b)[0],
            ),
            (
                "tl.map_elementwise(map_couples, {0}, {1}, pack=2)[1]",
                lambda a, b: _couples(a, b)[1],
            ),
        ]
    if want.dtype.family in "iu" and want.dtype.bits >= 32:
        rows.append(("tl.map_elementwise(map_halved, {0}, {1})[0]", lambda a, b: _halved(a, b)[0]))
        if want.dtype == I32:
            rows.append(
                ("tl.map_elementwise(map_halved, {0}, {1})[1]", lambda a, b: _halved(a, b)[1])
            )
    text, value = grow.pick(rows)
    return Expr(want, text, *kids, value=value)


def _halved(a: Any, limit: Any) -> tuple[Any, Any]:
    a, count = a.copy(), np.zeros(a.shape, np.int32)
    for _ in range(5):
        goes = a > limit
        count += goes
        a = np.where(goes, a >> 1, a)
    return a, count


def _couples(a: Any, b: Any) -> tuple[Any, Any]:
    a0, a1, b0, b1 = a[..., ::2], a[..., 1::2], b[..., ::2], b[..., 1::2]
    less = a0 < a1
    first = np.stack([np.where(less, a1, a0), np.where(less, b0, b1)], -1)
    second = np.stack([np.where(less, b0 + b1, b0), np.where(less, a0, a1)], -1)
    return first.reshape(a.shape).astype(a.dtype), second.reshape(a.shape).astype(a.dtype)


@rule(1)
def assumed(grow: Grower, want: Kind, depth: int) -> Expr | None:
    """Hints that are true: of a product, of a range, of what repeats."""
    if want.dtype != I32 or len(want.shape) != 1:
        return None
    (size,) = want.shape
    scalar = grow.expr(Kind(I32), depth)
    factor = grow.pick([2, 8, 16, 64])
    line = np.arange(size, dtype=np.int32)
    rows: list[tuple[str, Callable[..., Any]]] = [
        (f"(tl.multiple_of({{0}} * {factor}, {factor}) + tl.arange(0, {size}))",
         lambda a: a * np.int32(factor) + line),
        (f"tl.max_contiguous(tl.multiple_of({{0}} * {size} + tl.arange(0, {size}), {size}), "
         f"{size})", lambda a: a * np.int32(size) + line),
        (f"tl.max_constancy({{0}} + tl.zeros([{size}], tl.int32), {size})",
         lambda a: np.broadcast_to(a, size)),
        (f"tl.max_constancy(({{0}} & 15) + tl.arange(0, {size}) // {min(size, 4)}, "
         f"[{min(size, 4)}])", lambda a: (a & 15) + line // min(size, 4)),
    ]  # fmt: skip
    text, value = grow.pick(rows)
    return Expr(want, text, scalar, value=lambda a: np.asarray(value(a), np.int32))


# -- statements -----------------------------------------------------------------------------------


class Several(tree.Stmt):
    """Two values in one variable; ``form`` has places for them, ``parts`` are their names."""

    def __init__(self, name: str, form: str, parts: tuple[Var, Var], values: list[Expr]) -> None:
        self.name, self.form, self.parts, self.kids = name, form, parts, tuple(values)

    @property
    def defines(self) -> set[str]:
        return {var.name for var in self.parts}

    def lines(self) -> list[str]:
        return [f"{self.name} = {self.form.format(*(kid.text() for kid in self.kids))}"]

    def run(self, state: tree.State) -> None:
        values = [kid.compute(state) for kid in self.kids]
        state.variables.update(zip((var.name for var in self.parts), values, strict=True))


_HELD = {
    "Pair({0}, {1})": (".first", ".second"), "({0}, {1})": ("[0]", "[1]"),
    "Corner({0}, {1})": (".x", ".y"), "both({0}, {1})": ("[0]", "[1]"),
}  # fmt: skip


def hold(grow: Grower, nesting: int) -> None:
    """Two values kept together; both are variables from there on."""
    form = grow.pick(_HELD)
    name = grow.name("h")
    kinds = [Kind(grow.dtype(), grow.shape()) for _ in range(2)]
    first, second = (Var(kind, name + part) for kind, part in zip(kinds, _HELD[form]))
    values = [grow.expr(kind, 2) for kind in kinds]
    grow.held[name] = (form, (first, second))
    grow.statements.append(Several(name, form, (first, second), values))
    grow.scope += [first, second]


def hold_again(grow: Grower, nesting: int) -> None:
    """New values for such a pair, which loops and branches then carry."""
    known = {var.name for var in grow.scope}
    names = [name for name, (_, parts) in grow.held.items() if parts[0].name in known]
    if not names:
        return hold(grow, nesting)
    name = grow.pick(names)
    form, parts = grow.held[name]
    values: list[Expr] = [grow.expr(part.kind, 2) for part in parts]
    if parts[0].kind == parts[1].kind and grow.chance(0.4):
        values = [parts[1], grow.pick([parts[0], values[0]])]
    grow.statements.append(Several(name, form, parts, values))
    return None


class Leave(tree.Stmt):
    """``if condition: return`` of the kernel."""

    def __init__(self, condition: Expr) -> None:
        self.kids = (condition,)

    def lines(self) -> list[str]:
        return [f"if {self.kids[0].text()}:", "    return"]

    def run(self, state: tree.State) -> None:
        if self.kids[0].compute(state):
            raise tree.Left


def leave(grow: Grower, nesting: int) -> None:
    """A program that ends early."""
    if grow.is_nested:
        return
    condition = grow.expr(CONDITION, 2)
    if grow.chance(0.5):
        condition = Expr(CONDITION, "(pid >= 1)", state=True,
                         value=lambda s: np.asarray(s.program != (0, 0)))  # fmt: skip
    grow.statements.append(Leave(condition))


def chosen_by_constant(grow: Grower, nesting: int) -> None:
    """A branch on a constant of the launch: the other side is never compiled."""
    name = grow.name("K")
    number = grow.pick([0, 1, 3])
    grow.constants[name] = number
    if grow.chance(0.5):
        text, holds = f"{name} > 1", number > 1
    else:
        text, holds = f"{name} == 1 and tl.constexpr(True)", number == 1
    condition = Expr(CONDITION, text, value=lambda: np.asarray(holds))
    with grow.block() as then:
        statements.some(grow, nesting, 1)
    with grow.block() as other:
        statements.some(grow, nesting, 1)
    grow.statements.append(tree.If(condition, tree.block(then), tree.block(other)))
