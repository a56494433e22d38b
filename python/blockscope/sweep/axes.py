"""What varies: names with their values, the product of them, and the order in which it is run."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

_TARGET = re.compile(r"[A-Za-z_]\w*(\.shape\[\d+\]|\.dtype)?")
_RANGE = re.compile(r"(-?\d+)\.\.(-?\d+)(?::(x?)(\d+))?")
_WORD = re.compile(r"[A-Za-z_][\w.+-]*")
_MOST_VALUES = 1_000_000
MOST_POINTS = 10_000_000
_NAMES = {"true": True, "false": False, "none": None}


@dataclass(frozen=True)
class Axis:
    """``targets`` have the same value at each point; the first one names the axis."""

    targets: tuple[str, ...]
    values: tuple[Any, ...]

    @property
    def name(self) -> str:
        return self.targets[0]


def parse(texts: Sequence[str]) -> list[Axis]:
    """The axes of texts such as ``n=1..4096:64,BLOCK=64,128``. Errors: ValueError."""
    found: list[tuple[tuple[str, ...], list[Any]]] = []
    for text in texts:
        for place, word in enumerate(part.strip() for part in text.split(",")):
            *names, value = (each.strip() for each in word.split("="))
            if names:
                found.append((tuple(map(_target, names)), []))
            elif place == 0:
                raise ValueError(
                    f"'{text}' names no value or no argument, expected both as in n=1..4096:64"
                )
            if not value:
                raise ValueError(
                    f"'{word}' in '{text}' has no value, expected one as in n=1..4096:64"
                )
            found[-1][1].extend(_values(value))
    axes = [Axis(targets, tuple(dict.fromkeys(map(_Exact, values)))) for targets, values in found]
    axes = [Axis(axis.targets, tuple(each.value for each in axis.values)) for axis in axes]
    names = [target for axis in axes for target in axis.targets]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"'{twice[0]}' is varied twice")
    if math.prod(len(axis.values) for axis in axes) > MOST_POINTS:
        raise ValueError(f"these are more than {MOST_POINTS:,} points")
    return axes


@dataclass(frozen=True)
class _Exact:
    """A value by its type, too: 1 is not True, and not 1.0."""

    value: Any

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Exact)
            and type(self.value) is type(other.value)
            and self.value == other.value
        )


def _target(name: str) -> str:
    if not _TARGET.fullmatch(name):
        raise ValueError(
            f"'{name}' is no name of an argument, expected one such as n, x.shape[0] or x.dtype"
        )
    return name


def _values(text: str) -> list[Any]:
    if match := _RANGE.fullmatch(text):
        return _range(text, int(match[1]), int(match[2]), bool(match[3]), int(match[4] or 1))
    if text.lower() in _NAMES:
        return [_NAMES[text.lower()]]
    for kind in (int, float):
        try:
            return [kind(text)]
        except ValueError:
            continue
    if not _WORD.fullmatch(text):
        raise ValueError(
            f"'{text}' is no value, expected a number, a name, or a range such as 1..4096:64 or "
            "1..4096:x2"
        )
    return [text]


def _range(text: str, first: int, last: int, is_factor: bool, step: int) -> list[int]:
    if last < first:
        raise ValueError(f"the range '{text}' is empty")
    if step == 0 or (is_factor and (step < 2 or first < 1)):
        raise ValueError(f"the range '{text}' never ends")
    if is_factor:
        return [first * step**n for n in range(64) if first * step**n <= last]
    if (last - first) // step >= _MOST_VALUES:
        raise ValueError(f"the range '{text}' has more than {_MOST_VALUES:,} values")
    return list(range(first, last + 1, step))


def points(axes: Sequence[Axis]) -> Iterator[tuple[Any, ...]]:
    """All points, each the values of the axes, in order."""
    return itertools.product(*(axis.values for axis in axes))


def spread(count: int) -> Iterator[int]:
    """The numbers below ``count``, in an order of which each beginning is spread over all: a run
    that ends early has seen something of every part."""
    bits = max(count - 1, 0).bit_length()
    for number in range(1 << bits):
        mirrored = int(format(number, f"0{bits}b")[::-1], 2) if bits else 0
        if mirrored < count:
            yield mirrored


def point_text(point: dict[str, Any]) -> str:
    """As it is written for ``--vary``."""
    return ",".join(f"{name}={value}" for name, value in point.items())
