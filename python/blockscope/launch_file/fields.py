"""The JSON of a launch file, read with care: each value has a place, and is asked for by its type.

Errors: LaunchFileError that names the file, the place, what was found and what was expected.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from blockscope.errors import LaunchFileError

_SHOWN = 40


class Field:
    """One value of the JSON, and where it stands."""

    __slots__ = ("file", "place", "value")

    def __init__(self, file: str, place: str, value: Any) -> None:
        self.file, self.place, self.value = file, place, value

    def wrong(self, expected: str) -> LaunchFileError:
        found = repr(self.value)
        found = found if len(found) <= _SHOWN else f"{found[:_SHOWN]}..."
        return LaunchFileError(
            f"'{self.file}' is damaged: {self.place} is {found}, expected {expected}"
        )

    def text(self) -> str:
        if not isinstance(self.value, str):
            raise self.wrong("text")
        return self.value

    def flag(self) -> bool:
        if not isinstance(self.value, bool):
            raise self.wrong("true or false")
        return self.value

    def number(self, low: int, high: int) -> int:
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            raise self.wrong(f"a whole number from {low} to {high}")
        if not low <= self.value <= high:
            raise self.wrong(f"a whole number from {low} to {high}")
        return self.value

    def choice(self, *choices: str) -> str:
        if self.value not in choices or not isinstance(self.value, str):
            raise self.wrong(f"one of {', '.join(choices)}")
        return self.value

    def items(self, least: int = 0, most: int | None = None) -> list[Field]:
        """The values of a list with so many of them."""
        if not isinstance(self.value, list):
            raise self.wrong("a list")
        if len(self.value) < least or (most is not None and len(self.value) > most):
            wanted = str(least) if least == most else f"{least} to {most}"
            raise self.wrong(f"a list of {wanted} values")
        return [Field(self.file, f"{self.place}[{i}]", value) for i, value in enumerate(self.value)]

    def named(self) -> Iterator[tuple[str, Field]]:
        """The names of an object, each with its value."""
        if not isinstance(self.value, dict):
            raise self.wrong("an object")
        for name, value in self.value.items():
            yield name, Field(self.file, f"{self.place}.{name}", value)

    def __getitem__(self, name: str) -> Field:
        if not isinstance(self.value, dict):
            raise self.wrong("an object")
        if name not in self.value:
            raise LaunchFileError(f"'{self.file}' is damaged: {self.place} has no '{name}'")
        return Field(self.file, f"{self.place}.{name}", self.value[name])

    def get(self, name: str) -> Field | None:
        """A value that may be missing or null."""
        if not isinstance(self.value, dict):
            raise self.wrong("an object")
        value = self.value.get(name)
        return None if value is None else Field(self.file, f"{self.place}.{name}", value)
