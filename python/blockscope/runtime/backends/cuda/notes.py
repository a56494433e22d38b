"""What the GPU compiler noted of a kernel's speed, as text for people.

A note is a dict with the fields that findings have in JSON, and ``cost``, ``found``, ``expected``
and ``also``: the places of other accesses of which the same holds.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from blockscope import _core

Note = dict[str, Any]


def note_text(note: Note) -> str:
    """One note in the form of a finding: place, what was found, the source line, cost, hint."""
    return _core.finding_text(note).rstrip("\n")


def notes_of(fn: Any, data: dict[str, Any]) -> list[Note]:
    """The notes of a compiled kernel; one without a line of its own gets the kernel's."""
    code = fn.fn.__code__
    whole = {"file": code.co_filename, "line": code.co_firstlineno, "column": 1}
    return [note if note["line"] else note | whole for note in data.get("notes", ())]


def warnings_in(notes: Iterable[Note]) -> list[Note]:
    """Those that the author will want to hear of; the rest may well be meant."""
    return [note for note in notes if note["severity"] == "warning"]


def tell(name: str, notes: Sequence[Note]) -> None:
    """Print the warnings of a kernel that was compiled for a launch."""
    warnings = warnings_in(notes)
    if warnings:
        text = "\n".join(note_text(note) for note in warnings)
        print(f"kernel '{name}':\n{text}", file=sys.stderr, flush=True)
