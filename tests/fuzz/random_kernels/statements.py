"""Statements: variables, loops, branches, functions, stores, atomics."""

from __future__ import annotations

from typing import Any

import numpy as np

from random_kernels import loops, memory, pointers, tree
from random_kernels.dtypes import BOOL, DTYPES, I32, I64, U32
from random_kernels.grow import Grower, rule
from random_kernels.tree import CONDITION, Expr, Kind, Var

DEPTH = 2  # of expressions, at least


def statement(grow: Grower, nesting: int) -> None:
    """One more statement of the block that grows."""
    from random_kernels import streams, structures  # which grow inner blocks

    choices = [(assign, 6.0), (store, 2.0), (atomic, 1.0), (loops.tiles, 0.7)]
    choices += [
        (pointers.private_atomic, 0.7), (pointers.store_by_descriptor, 0.5),
        (pointers.store_cast, 0.6), (pointers.check, 0.2), (structures.hold, 0.6),
        (structures.hold_again, 0.8), (structures.leave, 0.15), (streams.store_rows, 0.4),
    ]  # fmt: skip
    if nesting > 0:
        choices += [
            (loop, 1.5), (branch, 1.2), (repeat, 0.6), (structures.chosen_by_constant, 0.4),
            (streams.stream, 1.0),
        ]  # fmt: skip
    rules, weights = zip(*choices)
    grow.random.choices(rules, weights)[0](grow, nesting)


def kind(grow: Grower) -> Kind:
    return Kind(grow.dtype(), grow.shape())


def assign(grow: Grower, nesting: int) -> None:
    """A new variable, or a new value for an old one."""
    if grow.scope and grow.chance(0.3):
        var = grow.pick(grow.scope)
        if var.name[0] == "v" and var.kind.size <= grow.largest:
            grow.statements.append(tree.Assign(var, grow.expr(var.kind, DEPTH)))
            return
    wanted = kind(grow)
    grow.scope.append(grow.var(wanted, grow.expr(wanted, DEPTH + grow.chance(0.3))))


def some(grow: Grower, nesting: int, count: int) -> None:
    """Statements of an inner block."""
    for _ in range(count):
        statement(grow, nesting - 1)
    carried = [var for var in grow.scope if var.name[0] == "v" and var.kind.size <= grow.largest]
    if carried and grow.chance(0.7):
        var = grow.pick(carried)
        grow.statements.append(tree.Assign(var, grow.expr(var.kind, 2)))


def _bound(grow: Grower) -> Expr:
    """A number of iterations from 0 to 3, known at compile time or not."""
    how = grow.random.randrange(3)
    if how == 0:
        number = grow.random.randrange(4)
        return Expr(Kind(I32), str(number), value=lambda: np.int32(number))
    return Expr(Kind(I32), "({0} & 3)", grow.expr(Kind(I32), 1), value=lambda a: a & np.int32(3))


def loop(grow: Grower, nesting: int) -> None:
    var = Var(Kind(I32), grow.name("i"))
    step = grow.pick([1, 1, 1, 2])
    form = grow.pick(["range({})", "range({})", "tl.range({})", "tl.range({}, num_stages=3)"])
    first = Expr(Kind(I32), "0", value=lambda: np.int32(0))
    last = _bound(grow)
    if grow.chance(0.15):
        form, step = "tl.static_range({})", 1
        number = grow.random.randrange(4)
        last = Expr(Kind(I32), str(number), value=lambda: np.int32(number))
    with grow.block() as body:
        if not form.startswith("tl.static"):  # its variable is a constant, with other types
            grow.scope.append(var)
        loops, grow.loops = grow.loops, [*grow.loops, var.name]
        some(grow, nesting, grow.random.randint(1, 3))
        grow.loops = loops
    grow.statements.append(tree.For(var, form, step, first, last, tree.block(body)))


def branch(grow: Grower, nesting: int) -> None:
    condition = grow.expr(CONDITION, 2)
    with grow.block() as then:
        some(grow, nesting, grow.random.randint(1, 2))
    with grow.block() as other:
        if grow.chance(0.6):
            some(grow, nesting, grow.random.randint(1, 2))
    grow.statements.append(tree.If(condition, tree.block(then), tree.block(other)))


def repeat(grow: Grower, nesting: int) -> None:
    counter = Var(Kind(I32), grow.name("c"))
    limit = grow.random.randint(1, 3)
    with grow.block() as body:
        grow.scope.append(counter)
        condition = grow.expr(CONDITION, 2)
        loops, grow.loops = grow.loops, [*grow.loops, counter.name]
        some(grow, nesting, grow.random.randint(1, 2))
        grow.loops = loops
    grow.statements.append(tree.While(counter, limit, condition, tree.block(body)))


# -- memory ---------------------------------------------------------------------------------------


def store(grow: Grower, nesting: int) -> None:
    candidates = [var for var in grow.scope if var.name[0] == "v"]
    if candidates and grow.chance(0.8):
        save(grow, grow.pick(candidates))
    else:
        save(grow, grow.expr(kind(grow), DEPTH))


def store_some(grow: Grower) -> None:
    """At the end of the kernel: what is left of most variables."""
    for var in grow.scope:
        if var.name[0] == "v" and grow.chance(0.8):
            save(grow, var)
    if not any(buffer.name[0] == "o" for buffer in grow.buffers):
        save(grow, grow.expr(kind(grow), DEPTH))


def save(grow: Grower, value: Expr) -> None:
    """Stores a block where no other statement, program or iteration stores."""
    size = value.kind.size
    programs = grow.grid[0] * grow.grid[1]
    iterations = 4 ** len(grow.loops)
    if size * programs * iterations > 1 << 16:
        return
    buffer = grow.buffer(value.kind.dtype, "o", size * programs * iterations, "bits")
    first, counters = f"{memory.PROGRAM} * {size * iterations}", list(grow.loops)
    for place, name in enumerate(counters):
        first += f" + {name} * {size * 4**place}"

    def number(state: Any) -> Any:
        within = sum(int(state.variables[name]) * 4**place for place, name in enumerate(counters))
        return size * (memory.program_number(state) * iterations + within)

    offsets = memory.region(grow, value.kind.shape, first, number)
    mask, more = None, ""
    if grow.chance(0.3) and size <= grow.largest:
        mask, more = grow.expr(Kind(BOOL, value.kind.shape), 1), ", mask={2}"
    grow.statements.append(
        tree.Store(
            f"tl.store({buffer.name} + {{1}}, {{0}}{more})", buffer.name, value, offsets, mask
        )
    )


_ATOMICS = {
    "add": np.add, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip


def atomic(grow: Grower, nesting: int) -> None:
    """All programs and lanes combine integers in one buffer: every order gives the same."""
    name = grow.pick(_ATOMICS)
    dtype = grow.pick([I32, I64, U32, DTYPES["uint64"]])
    count = grow.pick([1, 8, 64])
    buffer = grow.buffer(dtype, "a", count, "bits")
    shape = grow.shape()
    value = grow.expr(Kind(dtype, shape), 2)
    index = grow.expr(Kind(I32, shape), 2)
    offsets = Expr(
        Kind(I32, shape), f"({{0}} & {count - 1})", index, value=lambda i: i & np.int32(count - 1)
    )
    mask, more = None, ""
    if grow.chance(0.4):
        mask, more = grow.expr(Kind(BOOL, shape), 1), ", mask={2}"
    more += grow.pick(["", "", ', sem="relaxed"'])
    text = f"tl.atomic_{name}({buffer.name} + {{1}}, {{0}}{more})"
    grow.statements.append(tree.Atomic(_ATOMICS[name], text, buffer.name, value, offsets, mask))


# -- functions ------------------------------------------------------------------------------------


@rule(1)
def call(grow: Grower, want: Kind, depth: int) -> Expr | None:
    """A function of this kernel, an old one or a new one."""
    if grow.is_function or depth < 1:
        return None
    known = [f for f in grow.functions if f.result.kind == want]
    if known and grow.chance(0.6):
        function = grow.pick(known)
    elif len(grow.functions) < 4:
        function = _function(grow, want)
    else:
        return None
    kids = [grow.expr(parameter.kind, depth) for parameter in function.parameters]
    return tree.Call(function, *kids)


def _function(grow: Grower, want: Kind) -> tree.Function:
    kinds = [grow.pick([want, Kind(grow.dtype(), want.shape), Kind(grow.dtype())])
             for _ in range(grow.random.randint(1, 3))]  # fmt: skip
    parameters = [Var(each, grow.name("p")) for each in kinds]
    loops, grow.loops, grow.is_function = grow.loops, [], True
    with grow.block() as body:
        grow.scope = list(parameters)
        for _ in range(grow.random.randrange(3)):
            assign(grow, 0)
        result = grow.expr(want, 2)
    grow.loops, grow.is_function = loops, False
    function = tree.Function(grow.name("function_"), parameters, tree.block(body), result)
    grow.functions.append(function)
    return function
