"""Loads and stores that are in bounds by construction, and rules for those that cut off."""

from __future__ import annotations

from typing import Any

import numpy as np

from random_kernels import tree
from random_kernels.dtypes import BOOL, DTYPES, I32
from random_kernels.grow import Grower, rule
from random_kernels.tree import Expr, Kind


def written_offsets(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[str, Any]:
    """Offsets of a block with strides: as text, and as numbers."""
    parts, total = [], np.zeros(shape, np.int32)
    for axis, (size, stride) in enumerate(zip(shape, strides)):
        index = ", ".join(":" if a == axis else "None" for a in range(len(shape)))
        part = f"tl.arange(0, {size})" + (f"[{index}]" if len(shape) > 1 else "")
        parts.append(part if stride == 1 else f"{part} * {stride}")
        line = np.arange(size, dtype=np.int32) * stride
        total = total + line.reshape([-1 if a == axis else 1 for a in range(len(shape))])
    return " + ".join(parts) or "0", total.astype(np.int32)


def packed_strides(shape: tuple[int, ...], order: Any) -> tuple[int, ...]:
    """Strides without gaps; ``order`` lists the axes from the slowest to the fastest."""
    strides, step = [0] * len(shape), 1
    for axis in reversed(list(order)):
        strides[axis] = step
        step *= shape[axis]
    return tuple(strides)


def region(grow: Grower, shape: tuple[int, ...], first: str, number: Any) -> Expr:
    """Offsets of a packed block in any order of its axes, after those of the text ``first``."""
    order = grow.random.sample(range(len(shape)), len(shape))
    if grow.chance(0.5):
        order = sorted(order)
    text, offsets = written_offsets(shape, packed_strides(shape, order))
    if len(shape) > 1 and order == sorted(order) and grow.chance(0.6):
        text = f"tl.arange(0, {offsets.size}).reshape({', '.join(map(str, shape))})"
    return Expr(
        Kind(I32, shape), f"({first} + {text})" if shape else f"{first}", state=True,
        value=lambda state: (offsets + np.int32(number(state))).astype(np.int32),
    )  # fmt: skip


def program_number(state: Any) -> Any:
    return state.program[0] + state.grid[0] * state.program[1]


PROGRAM = "pid"  # tree.Kernel begins with it


def read(buffer: str) -> Any:
    return lambda state, offsets, *rest: state.memory[buffer][offsets]


def load(grow: Grower, kind: Kind) -> Expr:
    """Every element of an input at a fixed place."""
    buffer = grow.input(kind.dtype)
    room = grow.input_size // max(1, kind.size)
    per_program = grow.chance(0.4) and room >= 4
    first = grow.random.randrange(0, grow.input_size - kind.size * (4 if per_program else 1) + 1)
    if grow.chance(0.5):
        first -= first % 16
    text = str(first)
    if per_program:
        text = f"{PROGRAM} * {kind.size} + {first}"
    offsets = region(
        grow,
        kind.shape,
        text,
        lambda state: first + per_program * program_number(state) * kind.size,
    )
    return Expr(
        kind, f"tl.load({buffer.name} + {{0}})", offsets, value=read(buffer.name), state=True
    )


@rule(2)
def load_anywhere(grow: Grower, want: Kind, depth: int) -> Expr | None:
    """At computed places, wrapped into the input."""
    if grow.is_function:
        return None
    buffer = grow.input(want.dtype)
    dtype = grow.pick(d for d in DTYPES.values() if d.family in "iu" and d.bits >= 16)
    where = grow.expr(Kind(dtype, want.shape), depth)
    last = grow.input_size - 1
    return Expr(
        want, f"tl.load({buffer.name} + ({{0}} & {last}))", where, state=True,
        value=lambda state, i: state.memory[buffer.name][(i & last).astype(np.int64)],
    )  # fmt: skip


@rule(2)
def load_masked(grow: Grower, want: Kind, depth: int) -> Expr | None:
    """Partly outside of the input, where the mask says no."""
    if grow.is_function or not want.shape:
        return None
    buffer = grow.input(want.dtype)
    first = grow.pick([-20, -3, 0, 7, grow.input_size - 33, grow.input_size - 1])
    offsets = region(grow, want.shape, str(first), lambda state: first)
    last = grow.pick([grow.input_size, grow.input_size - 5, 40])
    test = Expr(
        Kind(BOOL, want.shape), f"(({{0}} >= 0) & ({{0}} < {last}))", offsets,
        value=lambda i: (i >= 0) & (i < last),
    )  # fmt: skip
    kids = [offsets, test]
    if grow.chance(0.3):
        more = grow.expr(Kind(BOOL, want.shape), depth)
        both = Expr(Kind(BOOL, want.shape), "({0} & {1})", test, more, value=lambda a, b: a & b)
        kids[1] = both
    how = grow.random.randrange(3) if want.dtype.family != "8" else 1
    number = grow.pick([0, 1, 3]) if want.dtype.family != "b" else False

    def value(state: Any, i: Any, mask: Any, other: Any = None) -> Any:
        found = state.memory[buffer.name][np.where(mask, i, 0)]
        if other is None:
            other = np.asarray(number).astype(want.dtype.numpy)
        return np.where(mask, found, other)

    text = f"tl.load({buffer.name} + {{0}}, mask={{1}}"
    if how == 0:
        text = f"{text}, other={number})"
    elif how == 1:
        kids.append(grow.expr(want, depth))
        text += ", other={2})"
    else:  # what a masked load leaves open is not used
        text = f"tl.where({{1}}, {text}), {number})"
        if want.dtype.is_float:
            return None
    return Expr(want, text, *kids, value=value, state=True)


@rule(1.5)
def block_pointer(grow: Grower, want: Kind, depth: int) -> Expr | None:
    """Block pointers and tensor descriptors over a matrix of the input, partly outside of it."""
    rank = len(want.shape)
    if grow.is_function or rank not in (1, 2):
        return None
    buffer = grow.input(want.dtype)
    described = rank and want.shape[-1] * want.dtype.itemsize >= 16 and grow.chance(0.5)
    if described:
        each = 16 // want.dtype.itemsize
        sizes = [grow.pick([5, 7, 8]), grow.pick([each * 2, each + 3])][2 - rank :]
        strides = [each * 3, 1][2 - rank :]
    else:
        sizes = [grow.pick([3, 8, 13]), grow.pick([4, 16, 19])][2 - rank :]
        strides = [grow.pick([19, 32]), 1][2 - rank :]
        if rank == 2 and grow.chance(0.3):
            strides = [1, 13]
    starts = [grow.random.randrange(-3, 6) for _ in range(rank)]
    if grow.chance(0.3):
        starts = [0] * rank
    kids, terms = [], []
    for start in starts:
        if depth > 0 and grow.chance(0.3):
            kids.append(grow.expr(Kind(I32), depth))
            terms.append(f"({{{len(kids) - 1}}} & 3) + {start}")
        else:
            kids.append(tree.constant(Kind(I32), 0))
            terms.append(str(start))
    if described:
        text = (
            f"tl.make_tensor_descriptor({buffer.name}, {sizes}, {strides}, {list(want.shape)})"
            f".load([{', '.join(terms)}])"
        )
    else:
        order = list(range(rank))[::-1] if strides[-1] == 1 else list(range(rank))
        text = (
            f"tl.load(tl.make_block_ptr({buffer.name}, {sizes}, {strides}, [{', '.join(terms)}], "
            f"{list(want.shape)}, {order}), boundary_check={list(range(rank))}, "
            f'padding_option="zero")'
        )

    def value(state: Any, *firsts: Any) -> Any:
        places = np.zeros(want.shape, np.int64)
        inside = np.ones(want.shape, bool)
        for axis, (first, start) in enumerate(zip(firsts, starts)):
            line = np.arange(want.shape[axis]) + start + (int(first) & 3)
            line = line.reshape([-1 if a == axis else 1 for a in range(rank)])
            places = places + line * strides[axis]
            inside = inside & (line >= 0) & (line < sizes[axis])
        found = state.memory[buffer.name][np.where(inside, places, 0)]
        return np.where(inside, found, np.zeros((), want.dtype.numpy))

    return Expr(want, text, *kids, value=value, state=True)
