"""What went wrong in a sweep, by cause, and at which points."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from blockscope.sweep.axes import Axis
from blockscope.sweep.result import Result

_ORDER = {"lost": 0, "late": 0, "error": 1, "warning": 2, "failed": 3, "note": 4}
_FEW = 6


@dataclass
class Cause:
    """A finding at one place, an error of launches, or points that ended too late. ``finding`` is
    that of the first point."""

    title: str
    severity: str  # that of findings, ``failed``, ``late``, ``lost``
    results: list[Result] = field(default_factory=list)
    finding: dict[str, Any] | None = None
    letter: str = "?"


def causes_of(results: Sequence[Result]) -> list[Cause]:
    """Errors first, of each kind those of most points first. ``results`` in the order of points."""
    found: dict[tuple[str, ...], Cause] = {}

    def cause(key: tuple[str, ...], title: str, severity: str) -> Cause:
        return found.setdefault(key, Cause(title, severity))

    for result in results:
        seen = set()
        for each in result.findings:
            key = (each["code"], each["file"], str(each["line"]))
            made = cause(key, f"{each['code']} at {each['file']}:{each['line']}", each["severity"])
            if made.finding is None:
                made.finding = each
            if key not in seen:
                seen.add(key)
                made.results.append(result)
        if result.state == "failed":
            text = re.sub(r"\d+", "N", result.failure)
            cause(("failed", text), result.failure, "failed").results.append(result)
        elif result.state in ("late", "lost"):
            title = "took too long" if result.state == "late" else "its process ended"
            cause((result.state,), title, result.state).results.append(result)
    causes = sorted(found.values(), key=lambda c: (_ORDER[c.severity], -len(c.results)))
    big, small = iter("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), iter("abcdefghijklmnopqrstuvwxyz")
    for one in causes:
        one.letter = next(small if one.severity in ("failed", "note") else big, "#")
    return causes


def where(cause: Cause, axes: Sequence[Axis], results: Sequence[Result]) -> str:
    """At which points, in a few words: "where n is not divisible by BLOCK", "where n >= 4097".
    Of a finding, points that could not be launched say nothing."""
    if cause.finding is not None:
        results = [result for result in results if result.state != "failed"]
    axes = [axis for axis in axes if len({_value(r, axis) for r in results}) > 1]
    bad = {r.index for r in cause.results}
    if len(bad) == len(results):
        return "all that were launched" if cause.finding is not None else "all"
    parts, count, is_short = [], 1, True
    for axis in axes:
        seen = sorted({_value(r, axis) for r in results}, key=_sortable)
        own = {_value(r, axis) for r in cause.results}
        count *= len(own)
        if len(own) < len(seen):
            text, part_is_short = _values_text(axis.name, seen, own)
            parts.append(text)
            is_short &= part_is_short
    inside = " and ".join(parts)
    is_product = count == len(bad)
    if is_product and is_short:
        return f"where {inside}"
    for text, holds in _relations(axes):
        if all(holds(r) is (r.index in bad) for r in results):
            return f"where {text}"
    if is_product:
        return f"where {inside}"
    return f"of {len(results)}" + (f", all with {inside}" if inside else "")


def _value(result: Result, axis: Axis) -> Any:
    return result.point.get(axis.name)


def _sortable(value: Any) -> tuple[int, Any]:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return (0, value) if is_number else (1, str(value))


def _relations(axes: Sequence[Axis]) -> list[tuple[str, Any]]:
    """Sentences about one or two axes, the simplest ones first, each with what decides it."""
    found: list[tuple[str, Any]] = []
    whole = [axis for axis in axes if all(type(v) is int and v >= 0 for v in axis.values)]
    for axis in whole:
        for by in (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024):
            n = axis.name
            found.append(
                (f"{n} is not divisible by {by}", _holds(axis, lambda v, by=by: v % by != 0))
            )
            found.append((f"{n} is divisible by {by}", _holds(axis, lambda v, by=by: v % by == 0)))
    for one in whole:
        for other in whole:
            if one is other or 0 in other.values:
                continue
            for text, holds in (
                (f"{one.name} is not divisible by {other.name}", lambda a, b: a % b != 0),
                (f"{one.name} is divisible by {other.name}", lambda a, b: a % b == 0),
                (f"{one.name} > {other.name}", lambda a, b: a > b),
                (f"{one.name} >= {other.name}", lambda a, b: a >= b),
            ):
                found.append((text, _holds_of(one, other, holds)))
    return found


def _holds(axis: Axis, holds: Any) -> Any:
    return lambda result: bool(holds(_value(result, axis)))


def _holds_of(one: Axis, other: Axis, holds: Any) -> Any:
    return lambda result: bool(holds(_value(result, one), _value(result, other)))


def _values_text(name: str, seen: Sequence[Any], own: set[Any]) -> tuple[str, bool]:
    """Which of the values of an axis: "n >= 4097", "BLOCK = 64, 128"; and whether these are all."""
    flags = [value in own for value in seen]
    numeric = all(_sortable(value)[0] == 0 for value in seen)
    if numeric and len(own) > 1:
        first = flags.index(True)
        last = len(flags) - 1 - flags[::-1].index(True)
        if all(flags[first : last + 1]):
            if last == len(flags) - 1:
                return f"{name} >= {seen[first]}", True
            if first == 0:
                return f"{name} <= {seen[last]}", True
            return f"{name} is {seen[first]} to {seen[last]}", True
    values = [str(value) for value, flag in zip(seen, flags, strict=True) if flag]
    if len(values) > _FEW:
        return f"{name} = {', '.join(values[:_FEW])}, ... ({len(values)} values)", False
    return f"{name} = {', '.join(values)}", True
