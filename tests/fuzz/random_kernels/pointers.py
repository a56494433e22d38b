"""Rules: pointers as values, atomics with results, modifiers, addresses of all integer types."""

from __future__ import annotations

from typing import Any

import numpy as np

from random_kernels import memory, tree
from random_kernels.dtypes import BOOL, DTYPES, F16, F32, F64, I32, I64, U32, convert
from random_kernels.grow import Grower, rule
from random_kernels.tree import Expr, Kind


@rule(1)
def load_backwards(grow: Grower, want: Kind, depth: int) -> Expr | None:
    """From the end of the input, with offsets of any width and sign that holds them."""
    if grow.is_function or len(want.shape) != 1:
        return None
    (size,) = want.shape
    buffer = grow.input(want.dtype)
    dtype = grow.pick([I32, I64, U32, DTYPES["int16"], DTYPES["uint16"], DTYPES["uint64"]])
    last, step = grow.input_size - 1, grow.pick([1, 1, 2])
    if size * step > grow.input_size:
        return None
    how = grow.pick(["", ", cache_modifier='.cg'", ", eviction_policy='evict_first'",
                     ", volatile=True"])  # fmt: skip
    line = f"tl.arange(0, {size}).to({dtype})"
    at = f"{buffer.name} + {last} - {line} * {step}"
    if dtype.family == "u" and grow.chance(0.5):
        at = f"{line} * {step} + {buffer.name}"
        places = np.arange(size) * step
    else:
        places = last - np.arange(size) * step
    return Expr(
        want, f"tl.load({at}{how})", state=True, value=lambda s: s.memory[buffer.name][places]
    )  # fmt: skip


@rule(1)
def chosen_pointer(grow: Grower, want: Kind, depth: int) -> Expr | None:
    """One of two inputs, by a condition of the program or of each element."""
    if grow.is_function:
        return None
    one, other = grow.input(want.dtype), grow.buffer(want.dtype, "x", grow.input_size)
    by_element = bool(want.shape) and grow.chance(0.5)
    condition = grow.expr(Kind(BOOL, want.shape if by_element else ()), depth)
    offsets = memory.region(grow, want.shape, "3", lambda state: 3)
    if want.size + 3 > grow.input_size:
        return None
    pointer = f"({one.name} if {{1}} else {other.name}) + {{0}}"
    if by_element:
        pointer = f"tl.where({{1}}, {one.name} + {{0}}, {other.name} + {{0}})"
    return Expr(
        want, f"tl.load({pointer})", offsets, condition, state=True,
        value=lambda state, i, c: np.where(
            c, state.memory[one.name][i], state.memory[other.name][i]),
    )  # fmt: skip


@rule(1)
def load_of_function(grow: Grower, want: Kind, depth: int) -> Expr | None:
    """A pointer as an argument of a function (prelude.py has it), with offsets of 64 bits."""
    if grow.is_function or not want.shape:
        return None
    buffer = grow.input(want.dtype)
    first = grow.random.randrange(grow.input_size - want.size + 1)
    offsets = memory.region(grow, want.shape, "0", lambda state: 0)
    index = grow.expr(Kind(BOOL, want.shape), depth)
    number = False if want.dtype == BOOL else 1
    if want.dtype.family == "8":
        return None
    return Expr(
        want, f"load_chosen({buffer.name} + {first}, {{0}}, {{1}}, {number})", offsets, index,
        state=True,
        value=lambda state, i, mask: np.where(
            mask, state.memory[buffer.name][i + first], convert(np.asarray(number), want.dtype)),
    )  # fmt: skip


_ATOMICS: dict[str, Any] = {
    "add": np.add, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor, "xchg": lambda old, new: new,
}  # fmt: skip


def private_atomic(grow: Grower, nesting: int) -> None:
    """Each lane of each program has an element of its own, so the old values are known."""
    if grow.loops:
        return
    shape = grow.shape()
    dtype = grow.pick([I32, I64, U32, DTYPES["uint64"], F32, F64, F16])
    kind = Kind(dtype, shape)
    names = ["add", "xchg"] if dtype.is_float else [*_ATOMICS, "cas"]
    if dtype == F16:
        names = ["add"]
    name = grow.pick(names)
    programs = grow.grid[0] * grow.grid[1]
    buffer = grow.buffer(dtype, "a", kind.size * programs, "small")
    offsets = memory.region(
        grow, shape, f"pid * {kind.size}",
        lambda state: memory.program_number(state) * kind.size,
    )  # fmt: skip
    value = grow.small(kind, 1) if dtype.is_float else grow.expr(kind, 1)
    kids = [offsets, value]
    text = f"tl.atomic_{name}({buffer.name} + {{0}}, {{1}}"
    if name == "cas":
        kids.insert(1, grow.expr(kind, 1) if grow.chance(0.3) else grow.small(kind, 1))
        text = f"tl.atomic_cas({buffer.name} + {{0}}, {{1}}, {{2}}"
    text += grow.pick([")", ', sem="acquire")', ', sem="relaxed", scope="cta")'])

    def run(state: tree.State, i: Any, *values: Any) -> Any:
        memory_of = state.memory[buffer.name]
        old = memory_of[i].copy()
        if name == "cas":
            memory_of[i] = np.where(old == values[0], values[1], old)
        else:
            memory_of[i] = convert(_ATOMICS[name](old, values[0]), dtype)
        return old

    made = Expr(kind, text, *kids, value=run, state=True)
    made.is_effect = True
    grow.scope.append(grow.var(kind, made))


def store_by_descriptor(grow: Grower, nesting: int) -> None:
    """Stores a matrix through a descriptor or a block pointer that cuts some of it off."""
    if grow.loops:
        return
    shape = (grow.pick([1, 4, 8, 16]), grow.pick([16, 32]))
    if shape[0] * shape[1] > grow.largest:
        return
    kind = Kind(grow.dtype(), shape)
    if kind.dtype == BOOL:
        return
    programs = grow.grid[0] * grow.grid[1]
    pitch = 48
    count = shape[0] * pitch
    buffer = grow.buffer(kind.dtype, "o", count * programs, "bits")
    sizes = [max(1, shape[0] - grow.pick([0, 0, 1])), shape[1] + grow.pick([-3, 0, 5])]
    start = [0, grow.pick([0, 0, 4])]
    value = grow.expr(kind, 2)
    base = f"{buffer.name} + pid * {count}"
    if grow.chance(0.6):
        text = (
            f"tl.make_tensor_descriptor({base}, {sizes}, [{pitch}, 1], {list(shape)})"
            f".store({start}, {{0}})"
        )
    else:
        text = (
            f"tl.store(tl.make_block_ptr({base}, {sizes}, [{pitch}, 1], {start}, {list(shape)}, "
            f"[1, 0]), {{0}}, boundary_check=[0, 1])"
        )
    rows = np.arange(shape[0])[:, None] + start[0]
    columns = np.arange(shape[1])[None, :] + start[1]
    places = (rows * pitch + columns).astype(np.int32)
    inside = np.broadcast_to((rows < sizes[0]) & (columns < sizes[1]), shape)
    offsets = Expr(
        Kind(I32, shape), "", state=True,
        value=lambda state: (places + memory.program_number(state) * count).astype(np.int32),
    )  # fmt: skip
    mask = Expr(Kind(BOOL, shape), "", value=lambda: inside)
    grow.statements.append(tree.Store(text, buffer.name, value, offsets, mask))


def store_cast(grow: Grower, nesting: int) -> None:
    """A scalar, or a value of another dtype, stored to a block."""
    if grow.loops:
        return
    to, shape = grow.dtype(), grow.shape()
    source = grow.pick([to, grow.dtype()])
    if "8" in (to.family, source.family) or BOOL in (to, source):
        source = to
    value = grow.expr(Kind(source, () if grow.chance(0.4) else shape), 2)
    size, programs = int(np.prod(shape)), grow.grid[0] * grow.grid[1]
    buffer = grow.buffer(to, "o", size * programs, "bits")
    offsets = memory.region(
        grow, shape, f"pid * {size}", lambda state: memory.program_number(state) * size
    )
    statement = tree.Store(
        f"tl.store({buffer.name} + {{1}}, {{0}})", buffer.name, value, offsets, None
    )
    statement.convert = lambda x: convert(x, to)
    grow.statements.append(statement)


def check(grow: Grower, nesting: int) -> None:
    """An assertion that holds."""
    kind = Kind(grow.pick([I32, I64, F32]), grow.shape())
    value = grow.expr(kind, 1)
    text = 'tl.device_assert(({0} == {0}) | ({0} != {0}), "never")'
    grow.statements.append(tree.Check(text, value))
