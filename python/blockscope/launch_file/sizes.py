"""Other sizes of a case's tensors, with all numbers that come from them: strides, arguments that
have the same number, shapes of descriptors."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from blockscope.launch_file.case import Case, Parts, Tensor
from blockscope.runtime.memory.buffer import contiguous_strides, element_count


def resized(
    case: Case,
    sizes: Mapping[int, int],
    *,
    constants: bool,
    may_grow: bool = False,
    kept: Collection[str] = (),
) -> Case | None:
    """The case with other numbers wherever those of ``sizes`` are dimensions of tensors, and in
    what comes of them. ``constants``: in constexpr arguments, too; arguments in ``kept`` stay.

    Memory that grows has what was in it again and again. None where a storage cannot have the size
    that its tensors need: it has addresses, or tensors of several dtypes, or would have to grow.
    """
    made = case.copy()
    for before, after in zip(case.tensors(), made.tensors(), strict=True):
        shape = tuple(sizes.get(n, n) for n in before.shape)
        contiguous = before.is_contiguous
        strides = contiguous_strides(shape) if contiguous else _strides(before, shape, sizes)
        after.shape, after.strides = shape, strides
    if not fit_storages(case, made, may_grow=may_grow):
        return None
    numbers = {**derived_numbers(case, made), **sizes}
    for descriptor in made.descriptors():
        descriptor.shape = [numbers.get(n, n) for n in descriptor.shape]
        descriptor.strides = [numbers.get(n, n) for n in descriptor.strides]
    for argument in made.arguments:
        if argument.name not in kept and (constants or not argument.is_constexpr):
            argument.value = renumbered(argument.value, numbers)
    return made


def derived_numbers(case: Case, made: Case) -> dict[int, int]:
    """Strides and numbers of elements of a case, each with what it is in ``made``."""
    derived: dict[int, int] = {}
    for before, after in zip(case.tensors(), made.tensors(), strict=True):
        for a, b in zip(before.strides, after.strides, strict=True):
            derived.setdefault(a, b)
        for part in range(len(before.shape)):
            count = element_count(after.shape[part:])
            derived.setdefault(element_count(before.shape[part:]), count)
    return {a: b for a, b in derived.items() if a > 1}


def renumbered(value: Any, numbers: Mapping[int, int]) -> Any:
    if isinstance(value, Parts):
        return Parts([renumbered(item, numbers) for item in value.items])
    if type(value) is int and value > 1:
        return numbers.get(value, value)
    return value


def _strides(tensor: Tensor, shape: tuple[int, ...], sizes: Mapping[int, int]) -> tuple[int, ...]:
    """Strides of a view that is not contiguous: those that are sizes, or products of them."""
    found = []
    for axis, stride in enumerate(tensor.strides):
        inner = element_count(tensor.shape[axis + 1 :])
        if stride == inner:
            found.append(element_count(shape[axis + 1 :]))
        else:
            found.append(sizes.get(stride, stride))
    return tuple(found)


def fit_storages(case: Case, made: Case, *, may_grow: bool) -> bool:
    """Give memory the size that the tensors of ``made`` need, which are those of ``case`` in other
    shapes; false where it cannot have it."""
    users: dict[int, list[tuple[Tensor, Tensor]]] = {}
    for before, after in zip(case.tensors(), made.tensors(), strict=True):
        users.setdefault(before.storage, []).append((before, after))
    return all(_fit(case, made, number, of, may_grow) for number, of in users.items())


def _fit(
    case: Case, made: Case, number: int, users: list[tuple[Tensor, Tensor]], may_grow: bool
) -> bool:
    """Give a storage the size that its tensors now need, and as much behind them as before."""
    storage, before = made.storages[number], case.storages[number]
    if any(a.dtype != storage.dtype for _, a in users):
        return all(b.shape == a.shape for b, a in users)
    behind = before.count - max(b.reach for b, _ in users)
    storage.count = max(a.reach for _, a in users) + behind
    if storage.count < 0 or (storage.count > before.count and not may_grow):
        return False
    if storage.fill == "table":
        if storage.count > before.count:
            return False
        storage.table = storage.table[: storage.count]
    if storage.fill == "data":
        first_before, first_after = users[0]
        size = storage.data.shape[1]
        is_whole = behind == 0 and len(users) == 1 and first_before.is_contiguous
        if is_whole and first_before.offset == 0 and first_after.shape and before.count:
            blocks = storage.data.reshape(*first_before.shape, size)
            for axis, n in enumerate(first_after.shape):
                blocks = _repeated(blocks, axis, n)
            storage.data = np.ascontiguousarray(blocks).reshape(-1, size)
        elif before.count:
            storage.data = _repeated(storage.data, 0, storage.count)
        elif storage.count:
            storage.fill, storage.data = "zeros", None
    return True


def _repeated(data: Any, axis: int, count: int) -> Any:
    """The first ``count`` entries along an axis, from the first one on again where they end."""
    if count <= data.shape[axis]:
        return data[(slice(None),) * axis + (slice(count),)]
    return data.take(np.arange(count) % data.shape[axis], axis=axis)
