"""The grid at other numbers: by the formula that was named, or by the one that the recorded grid
leaves no doubt about."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Sequence
from functools import partial

from blockscope.launch_file.case import Case
from blockscope.sweep.case_numbers import number_of, sizes_of
from blockscope.sweep.formula import Formula

_MOST = 2**31 - 1
_MOST_SHOWN = 4
_PAIR = re.compile(r"cdiv\((\w+), (\w+)\)")


class Grid:
    """The grid of the cases of one launch. ``samples`` are cases at some points.

    Errors: ValueError for a formula that does not give the recorded grid; without one, where the
    formulas that do differ at the samples.
    """

    def __init__(
        self,
        case: Case,
        formula: Formula | None,
        samples: Sequence[Case],
        varied: Collection[str] = (),
    ) -> None:
        self.is_inferred = formula is None
        if formula is None:
            self._parts = [
                Formula(_inferred(case, samples, axis, varied)) for axis in range(len(case.grid))
            ]
            return
        self._parts = formula.parts()
        if len(self._parts) > 3:
            raise ValueError(f"the grid '{formula.text}' has more than 3 parts")
        if (found := self._computed(case)) != case.grid:
            raise ValueError(
                f"the grid '{formula.text}' is {found} for the launch as it was recorded, whose "
                f"grid is {case.grid}"
            )

    @property
    def is_constant(self) -> bool:
        return not any(part.names for part in self._parts)

    @property
    def text(self) -> str:
        texts = [part.text for part in self._parts]
        while len(texts) > 1 and texts[-1] == "1":
            texts.pop()
        return ", ".join(texts)

    def of(self, case: Case) -> tuple[int, int, int]:
        """The grid of a case. Errors: ValueError where it is none."""
        found = self._computed(case)
        if not all(1 <= n <= _MOST for n in found):
            raise ValueError(f"the grid is {found}, expected 1 to {_MOST} programs along each axis")
        return found

    def _computed(self, case: Case) -> tuple[int, int, int]:
        numbers = [part.value(partial(number_of, case)) for part in self._parts]
        x, y, z = [*numbers, 1, 1][:3]
        return x, y, z


def _inferred(case: Case, samples: Sequence[Case], axis: int, varied: Collection[str]) -> str:
    """The formula of one axis of the grid. Of formulas that do not differ, the one whose names
    agree, then that with most names that vary, and with most names."""
    size = case.grid[axis]
    fixed = str(size)
    if size == 1 and axis:
        return fixed  # most grids have one axis
    formulas = [Formula(text) for text in _candidates(case, size)]
    formulas.sort(
        key=lambda f: (not _names_agree(f.text), -len(f.names.intersection(varied)), -len(f.names))
    )
    groups: dict[tuple[int, ...], list[str]] = {(size,) * len(samples): []}
    for formula in formulas:
        try:
            values = tuple(formula.value(partial(number_of, each)) for each in samples)
        except ValueError:
            continue
        groups.setdefault(values, []).append(formula.text)
    constant, *others = groups.values()
    if not others:
        return next(iter(constant), fixed)
    if size > 1:
        alike = [texts[0] for texts in groups.values() if texts and _names_agree(texts[0])]
        if len(alike) == 1:
            return alike[0]
        if len(others) == 1 and not constant:
            return others[0][0]
    texts = sorted(
        [t[0] for t in groups.values() if t],
        key=lambda t: (not _names_agree(t), not Formula(t).names.intersection(varied)),
    )
    shown = ", ".join(f"'{text}'" for text in [*texts[:_MOST_SHOWN], fixed])
    more = ", ..." if len(texts) > _MOST_SHOWN else ""
    rest = [str(n) for n in case.grid[axis + 1 :]]
    while rest and rest[-1] == "1":
        rest.pop()
    example = ", ".join([*map(str, case.grid[:axis]), texts[0], *rest])
    raise ValueError(
        f"the grid was {case.grid}, and {size} may be {shown}{more}: say which, as in --grid "
        f"'{example}'"
    )


def _names_agree(text: str) -> bool:
    """Whether each size goes with the block of its name: M with BM, BLOCK_M or BLOCK_SIZE_M."""
    pairs = _PAIR.findall(text)
    return bool(pairs) and all(
        re.sub("BLOCK|SIZE|TILE|_", "", block.upper()) in (size.upper(), f"B{size.upper()}")
        for size, block in pairs
    )


def _candidates(case: Case, size: int) -> list[str]:
    """Formulas that give ``size``: numbers, numbers by blocks, and products of two of these."""
    numbers, blocks = sizes_of(case)
    terms = dict(numbers)
    for (name, value), (block, by) in itertools.product(numbers.items(), blocks.items()):
        terms[f"cdiv({name}, {block})"] = -(-value // by)
    found = [text for text, value in terms.items() if value == size]
    for (one, a), (other, b) in itertools.combinations(terms.items(), 2):
        if a > 1 and b > 1 and a * b == size:
            found.append(f"{one} * {other}")
    return found
