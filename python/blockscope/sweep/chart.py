"""Which points passed, as a chart: rows and columns of characters, or of cells of a page."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from blockscope.sweep.axes import Axis
from blockscope.sweep.causes import Cause
from blockscope.sweep.result import Result

PASSED, NOT_RUN = ".", " "
_MOST_CHARTS = 12
_MOST_ROWS = 40


@dataclass
class Cell:
    """Some points beside one another: the worst cause among them, and how many have one."""

    letter: str
    count: int  # points that were run
    bad: int
    text: str  # which points


@dataclass
class Chart:
    title: str  # the values of the other axes
    rows: list[tuple[str, list[Cell]]]
    column_axis: str
    columns: list[str]  # the first value of each


def charts(
    axes: Sequence[Axis], results: Sequence[Result], causes: Sequence[Cause], width: int
) -> Iterator[Chart]:
    """Of two axes each; the others have a chart for each of their values, the first ones only."""
    wide = sorted((a for a in axes if len(a.values) > 1), key=lambda a: -len(a.values))
    if not wide:
        return
    columns, rows = wide[0], wide[1] if len(wide) > 1 else None
    others = [a for a in axes if a in wide[2:]]
    letters: dict[int, str] = {}
    for cause in reversed(causes):
        for result in cause.results:
            letters[result.index] = cause.letter
    by_place: dict[tuple[Any, ...], list[Result]] = {}
    order = [*others, *([rows] if rows else []), columns]
    for result in results:
        place = tuple(map(_exact, (result.point.get(a.name) for a in order)))
        by_place.setdefault(place, []).append(result)
    bins = _bins(columns.values, width)
    row_bins = _bins(rows.values, _MOST_ROWS) if rows else [()]
    for values in itertools.islice(itertools.product(*(a.values for a in others)), _MOST_CHARTS):
        title = ", ".join(f"{a.name}={v}" for a, v in zip(others, values, strict=True))
        made = []
        for row in row_bins:
            heads = [(value,) for value in row] if rows else [()]
            cells = [
                _cell(
                    [
                        result
                        for head in heads
                        for value in each
                        for result in by_place.get(tuple(map(_exact, (*values, *head, value))), [])
                    ],
                    letters,
                    _span(columns.name, each) + (f", {_span(rows.name, row)}" if rows else ""),
                )
                for each in bins
            ]
            made.append((_span(rows.name, row) if rows else columns.name, cells))
        yield Chart(title, made, columns.name, [str(each[0]) for each in bins])


def left_out(axes: Sequence[Axis]) -> int:
    """So many charts more there would be."""
    wide = sorted((len(a.values) for a in axes if len(a.values) > 1), reverse=True)
    count = 1
    for size in wide[2:]:
        count *= size
    return max(0, count - _MOST_CHARTS)


def _exact(value: Any) -> tuple[type, Any]:
    return type(value), value


def _bins(values: Sequence[Any], most: int) -> list[Sequence[Any]]:
    """Values in at most so many groups of neighbours of one size."""
    size = -(-len(values) // most)
    return [values[n : n + size] for n in range(0, len(values), size)]


def _cell(results: list[Result], letters: dict[int, str], text: str) -> Cell:
    bad = [letters[r.index] for r in results if r.index in letters]
    letter = min(bad, key=lambda c: (c.islower(), c)) if bad else PASSED if results else NOT_RUN
    return Cell(letter, len(results), len(bad), text)


def _span(name: str, values: Sequence[Any]) -> str:
    return f"{name}={values[0]}" if len(values) == 1 else f"{name}={values[0]}..{values[-1]}"


def text_of(chart: Chart) -> list[str]:
    """The chart on a terminal."""
    label = max(len(name) for name, _ in chart.rows)
    lines = [f"{chart.title}:"] if chart.title else []
    lines += [
        f"  {name:<{label}}  {''.join(cell.letter for cell in cells)}" for name, cells in chart.rows
    ]
    first, last = chart.columns[0], chart.columns[-1]
    head = f"{chart.column_axis}={first}"
    gap = len(chart.columns) - len(head) - len(last)
    axis = f"{head}{' ' * gap}{last}" if gap > 0 else f"{head} to {last}"
    lines.append(f"  {'':<{label}}  {axis}")
    return lines
