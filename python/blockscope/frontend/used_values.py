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
        self._of_functions: dict[tuple[int, str], Any] = {}

    def note(self, owner: Any, name: str, value: Any, *, by_function: bool = False) -> None:
        """Note that ``value`` was read: from a dict, from a cell, or as an attribute.

        Of several values that a kernel read in one place the first counts. Of those that Python
        functions read, the last: they may have changed it themselves.
        """
        place = (id(owner), name)
        records = self._of_functions if by_function else self._records
        if place in records and not by_function:
            return
        try:
            record = _core.record_used_value(owner, name, value)
        except Exception as error:  # an object that cannot be compared
            if tracebacks.is_from_signal(error):
                raise
            return
        # A property may give another object whenever it is read.
        if _core.are_used_values_fresh([record]):
            records[place] = record

    def note_attribute(
        self, owner: Any, name: str, value: Any, *, by_function: bool = False
    ) -> None:
        """Note that an attribute of a module, a class or an object of the user's was read."""
        where = owner if isinstance(owner, types.ModuleType | type) else type(owner)
        module = getattr(where, "__module__", None) or where.__name__
        if module.partition(".")[0] not in ("blockscope", "builtins"):
            self.note(owner, name, value, by_function=by_function)

    def note_source(self, fn: Any) -> None:
        """Note that the source of a kernel's function was read."""
        source = fn.function_source
        self.note(source, "text", source.text)

    @property
    def records(self) -> list[Any]:
        """For ``_core.are_used_values_fresh``."""
        return [*self._records.values(), *self._of_functions.values()]
