"""Smaller cases: each step gives places that can be changed, and for each the candidates, the best
ones first.

Sizes change together with all numbers that come from them: equal dimensions, strides, arguments
that have their values, the grid.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from blockscope.launch_file.case import Case, Descriptor, Parts
from blockscope.launch_file.sizes import derived_numbers, renumbered, resized
from blockscope.runtime.memory.buffer import element_count

_FILLS = ("zeros", "ones", "full", "arange", "data")  # the first ones are the simplest


def _ladder(old: int) -> list[int]:
    """Smaller numbers from 1 on, the smallest first."""
    found = {1, 2, 3, old // 2, old - 1}
    power = 4
    while power < old:
        found |= {power, power + 1, power + power // 2}
        power *= 2
    return sorted(n for n in found if 0 < n < old)


def scales(case: Case) -> Iterator[Iterator[Case]]:
    """All sizes, constants and the grid divided by the same number."""

    def candidates() -> Iterator[Case]:
        for by in (64, 16, 8, 4, 2):
            made = case.copy()
            lengths = {n for t in made.tensors() for n in t.shape}
            for old in sorted(lengths, reverse=True):
                if old >= 2 * by and old % by == 0:
                    made = _resized(made, old, old // by, constants=True) or made
            for before, argument in zip(case.arguments, made.arguments, strict=True):
                value = argument.value
                is_left = argument.is_constexpr and type(value) is int and value == before.value
                if is_left and value >= 2 * by:
                    argument.value = value // by
            yield made

    for _ in range(3):
        yield candidates()


def sizes(case: Case) -> Iterator[Iterator[Case]]:
    """Each size of a tensor, with all that comes from it."""
    lengths = {n for tensor in case.tensors() for n in tensor.shape if n > 1}
    for old in sorted(lengths, reverse=True):

        def candidates(old: int = old) -> Iterator[Case]:
            for new in _ladder(old):
                for constants in (True, False):
                    for grid in ("scaled", "linked", "kept"):
                        made = _resized(case, old, new, constants=constants, grid=grid)
                        if made is not None:
                            yield made

        yield candidates()


def _resized(
    case: Case, old: int, new: int, *, constants: bool, grid: str = "linked"
) -> Case | None:
    """The case with ``new`` wherever ``old`` is a size, and in what comes of it."""
    made = resized(case, {old: new}, constants=constants)
    if made is None:
        return None
    if grid != "kept":
        derived = derived_numbers(case, made)
        made.grid = tuple(  # type: ignore[assignment]
            max(1, -(-n * new // old)) if grid == "scaled" and n > 1
            else max(1, new if n == old else derived.get(n, n))
            for n in case.grid
        )  # fmt: skip
    return made


def numbers(case: Case) -> Iterator[Iterator[Case]]:
    """Each number among the arguments by itself: constants, loop counts, factors. What is a size of
    a tensor changes with that."""
    linked = {n for t in case.tensors() for n in (*t.shape, *t.strides, element_count(t.shape))}
    for place, argument in enumerate(case.arguments):
        values = argument.value.items if isinstance(argument.value, Parts) else [argument.value]
        if isinstance(argument.value, Descriptor):
            values = argument.value.block_shape
        for part, value in enumerate(values):
            if value is None or isinstance(value, bool) or not isinstance(value, int | float):
                continue
            if value in linked and not argument.is_constexpr and isinstance(value, int):
                continue
            smaller: list[Any] = _ladder(value) if isinstance(value, int) and value > 0 else []
            if isinstance(value, float):
                smaller = [n for n in (1.0, 0.0) if n != value and value not in (1.0, 0.0)]
            if isinstance(value, int) and value < 0:
                smaller = [-n for n in _ladder(-value) if n]

            def candidates(
                place: int = place, part: int = part, value: Any = value, smaller: Any = smaller
            ) -> Iterator[Case]:
                for new in smaller:
                    made = case.copy()
                    argument = made.arguments[place]
                    if isinstance(argument.value, Parts):
                        argument.value.items[part] = new
                    elif isinstance(argument.value, Descriptor):
                        argument.value.block_shape[part] = new
                    else:
                        argument.value = new
                    if argument.is_constexpr and isinstance(new, int):
                        for each in made.descriptors():  # blocks of descriptors are constants, too
                            if value in each.block_shape:
                                other = made.copy()
                                for inner in other.descriptors():
                                    inner.block_shape = [
                                        new if n == value else n for n in inner.block_shape
                                    ]
                                yield other
                                break
                    yield made

            yield candidates()


def grids(case: Case) -> Iterator[Iterator[Case]]:
    """Fewer programs along each axis."""
    for axis, size in enumerate(case.grid):

        def candidates(axis: int = axis, size: int = size) -> Iterator[Case]:
            for new in _ladder(size):
                if new:
                    made = case.copy()
                    made.grid = (*case.grid[:axis], new, *case.grid[axis + 1 :])  # type: ignore[assignment]
                    yield made

        yield candidates()


def gaps(case: Case) -> Iterator[Iterator[Case]]:
    """Views: less memory before, between and behind what a tensor needs."""
    for number, storage in enumerate(case.storages):
        users = [t for t in case.tensors() if t.storage == number]
        if not users or storage.is_gone or any(t.dtype != storage.dtype for t in users):
            continue

        def candidates(number: int = number, users: Any = users) -> Iterator[Case]:
            offset = min(t.offset for t in users)
            for smaller in [0, *_ladder(offset)] if offset else []:
                made = case.copy()
                for tensor in made.tensors():
                    if tensor.storage == number:
                        tensor.offset -= offset - smaller
                yield _cut(made, number, offset - smaller, storage_end=None)
            need, count = max(t.reach for t in users), case.storages[number].count
            for behind in [0, 1, *_ladder(count - need)]:
                if behind < count - need:
                    yield _cut(case.copy(), number, 0, storage_end=need + behind)

        def strides(number: int = number, users: Any = users) -> Iterator[Case]:
            for old in sorted(
                {s for t in users if not t.is_contiguous for s in t.strides if s > 1}
            ):
                for new in _ladder(old):
                    made = case.copy()
                    for tensor in made.tensors():
                        if tensor.storage == number and not tensor.is_contiguous:
                            tensor.strides = tuple(new if s == old else s for s in tensor.strides)
                    for argument in made.arguments:
                        argument.value = renumbered(argument.value, {old: new})
                    need = max(t.reach for t in made.tensors() if t.storage == number)
                    behind = case.storages[number].count - max(t.reach for t in users)
                    yield _cut(made, number, 0, storage_end=need + behind)

        yield candidates()
        yield strides()


def _cut(made: Case, number: int, begin: int, storage_end: int | None) -> Case:
    storage = made.storages[number]
    end = storage.count if storage_end is None else min(storage_end, storage.count)
    if storage.fill == "data":
        storage.data = storage.data[begin:end]
    if storage.fill == "table":
        storage.table = storage.table[begin:end]
    storage.count = max(0, end - begin)
    return made


def fills(case: Case) -> Iterator[Iterator[Case]]:
    """Contents that are written in a word."""
    for number, storage in enumerate(case.storages):

        def candidates(number: int = number, fill: str = storage.fill) -> Iterator[Case]:
            if fill == "table" or case.storages[number].is_gone:
                return
            simpler = ("zeros",) if fill == "empty" else _FILLS[: _FILLS.index(fill)]
            for new in simpler:
                for value in _extremes(case, number) if new == "full" else [0]:
                    made = case.copy()
                    made.storages[number].fill, made.storages[number].number = new, value
                    yield made

        yield candidates()


def _extremes(case: Case, number: int) -> list[Any]:
    """The largest and the least value in a storage, floats in few digits first."""
    values = case.values_of(number)
    if values is None:
        return []
    if values.dtype.kind in "iub":
        return [int(values.max()), int(values.min())]
    wide = values.astype(np.float64)
    wide = wide[np.isfinite(wide)]
    found = [float(wide.max()), float(wide.min())] if wide.size else []
    return [*(float(f"{value:.2g}") for value in found), *found]


def options(case: Case) -> Iterator[Iterator[Case]]:
    """Options of the launch left out."""
    for name in list(case.options):

        def candidates(name: str = name) -> Iterator[Case]:
            made = case.copy()
            made.options.pop(name, None)
            yield made

        yield candidates()


STEPS = (scales, sizes, numbers, grids, gaps, fills, options)
