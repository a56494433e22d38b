"""Loops over tiles that are not dots: what is loaded in each iteration is a variable of a body that
grows like any other, and what comes out is stored through descriptors too."""

from __future__ import annotations

from typing import Any

import numpy as np

from random_kernels import memory, statements, tree
from random_kernels.dtypes import BOOL, F32, I32
from random_kernels.grow import Grower
from random_kernels.loops import MOST, Tile
from random_kernels.tree import Expr, Kind, Var


def stream(grow: Grower, nesting: int) -> None:
    """Loads of one or two tiles at the start of each iteration, early where a GPU pipelines."""
    if grow.is_function or len(grow.loops) > 1:
        return
    shape = tuple(grow.pick([4, 8, 16, 16, 32]) for _ in range(2))
    if shape[0] * shape[1] > grow.largest:
        return
    index = Var(Kind(I32), grow.name("i"))
    tiles = [
        Tile(grow, grow.pick([d for d in (grow.dtype(), F32, I32) if d != BOOL]), shape,
             grow.random.randrange(2))
        for _ in range(grow.random.randint(1, 2))
    ]  # fmt: skip
    stages = grow.pick(["", ", num_stages=1", ", num_stages=2", ", num_stages=3", ", num_stages=4"])
    form = f"tl.range({{}}{stages})" if stages else "range({})"
    number = grow.random.randint(0, MOST)
    last = Expr(Kind(I32), str(number), value=lambda: np.int32(number))
    if grow.chance(0.6):
        last = Expr(
            Kind(I32), "({0} & 3)", grow.expr(Kind(I32), 1), value=lambda n: n & np.int32(3)
        )
    total = Var(Kind(F32 if grow.chance(0.5) else I32, shape), grow.name("v"))
    grow.statements.append(tree.Assign(total, tree.constant(total.kind, 0)))
    grow.statements.append(tree.Lines([line for tile in tiles for line in tile.before()]))
    with grow.block() as body:
        grow.scope += [index, total]
        for tile in tiles:
            loaded = Expr(
                tile.kind, tile.load(index.name), state=True,
                value=lambda s, tile=tile: tile.value(s, int(s.variables[index.name])),
            )  # fmt: skip
            grow.scope.append(grow.var(tile.kind, loaded, "w"))
        loops, grow.loops = grow.loops, [*grow.loops, index.name]
        statements.some(grow, nesting, grow.random.randint(1, 2))
        more = grow.small(total.kind, 2)
        grow.statements.append(tree.Assign(total, Expr(
            total.kind, "({0} + {1})", total, more, value=lambda a, b: a + b)))  # fmt: skip
        grow.loops = loops
        grow.statements.append(tree.Lines([line for tile in tiles for line in tile.after()]))
    first = Expr(Kind(I32), "0", value=lambda: np.int32(0))
    grow.statements.append(tree.For(index, form, 1, first, last, tree.block(body)))
    grow.scope.append(total)


def store_rows(grow: Grower, nesting: int) -> None:
    """Stores a matrix through a descriptor of all that the launch stores here, as TMA can."""
    known = [v for v in grow.scope if len(v.kind.shape) == 2 and v.kind.size <= grow.largest]
    if grow.is_function or not known:
        return
    value = grow.pick(known)
    rows, columns = value.kind.shape
    dtype = value.kind.dtype
    programs, iterations = grow.grid[0] * grow.grid[1], 4 ** len(grow.loops)
    count = value.kind.size * programs * iterations
    if dtype == BOOL or columns * dtype.itemsize < 16 or count > 1 << 16:
        return
    buffer = grow.buffer(dtype, "o", count, "bits")
    first, counters = f"{memory.PROGRAM} * {rows * iterations}", list(grow.loops)
    for place, name in enumerate(counters):
        first += f" + {name} * {rows * 4**place}"
    line = np.arange(value.kind.size, dtype=np.int32).reshape(rows, columns)

    def places(state: Any) -> Any:
        within = sum(int(state.variables[name]) * 4**place for place, name in enumerate(counters))
        block = memory.program_number(state) * iterations + within
        return (line + value.kind.size * block).astype(np.int32)

    offsets = Expr(Kind(I32, value.kind.shape), "", value=places, state=True)
    text = (
        f"tl.make_tensor_descriptor({buffer.name}, [{rows * programs * iterations}, {columns}], "
        f"[{columns}, 1], [{rows}, {columns}]).store([{first}, 0], {{0}})"
    )
    grow.statements.append(tree.Store(text, buffer.name, value, offsets, None))
