"""What a kernel reads from outside of itself while it is compiled."""

from __future__ import annotations

import types
from typing import Any

from blockscope import _core
from blockscope.frontend import tracebacks


class UsedValues:
    """Records of values that were read; when one of them changes, the compiled kernel is stale."""

    def __init__(self) -> None:
        self._records: dict[tuple[int, str], Any] = {}

    def note(self, owner: Any, name: str, value: Any) -> None:
        """Note that ``value`` was read: from a dict, from a cell, or as an attribute."""
        place = (id(owner), name)
        if place in self._records:
            return
        try:
            record = _core.record_used_value(owner, name, value)
        except Exception as error:  # an object that cannot be compared
            if tracebacks.is_from_signal(error):
                raise
            return
        # A property may give another object whenever it is read.
        if _core.are_used_values_fresh([record]):
            self._records[place] = record

    def note_attribute(self, owner: Any, name: str, value: Any) -> None:
        """Note that an attribute of a module, a class or an object of the user's was read."""
        where = owner if isinstance(owner, types.ModuleType | type) else type(owner)
        module = getattr(where, "__module__", None) or where.__name__
        if module.partition(".")[0] not in ("blockscope", "builtins"):
            self.note(owner, name, value)

    def note_source(self, fn: Any) -> None:
        """Note that the source of a kernel's function was read."""
        source = fn.function_source
        self.note(source, "text", source.text)

    @property
    def records(self) -> list[Any]:
        """For ``_core.are_used_values_fresh``."""
        return list(self._records.values())
