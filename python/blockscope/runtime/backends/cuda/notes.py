"""What the GPU compiler noted of a kernel's speed, as text for people.

A note is a dict with the fields that findings have in JSON, and ``cost``, ``found``, ``expected``
and ``also``: the places of other accesses of which the same holds.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterable, Sequence
from typing import Any

Note = dict[str, Any]


def place(at: Note) -> str:
    """``file:line:column``."""
    return f"{at['file']}:{at['line']}:{at['column']}" if at["line"] else "<unknown>"


def note_text(note: Note) -> str:
    """One note in the form of a finding: place, what was found, the source line, cost, hint."""
    lines = [f"{place(note)}: {note['severity']}[{note['code']}]: {note['message']}"]
    lines += _source(note)
    for caller in note["called_from"]:
        function = f" in {caller['function']}" if caller["function"] else ""
        lines.append(f"  called from: {place(caller)}{function}")
    others = dict.fromkeys(_other_place(other, note) for other in note["also"])
    others.pop(f"line {note['line']}", None)
    if others:
        lines.append(f"  also: {', '.join(others)}")
    for label in ("cost", "hint"):
        if note[label]:
            lines.append(f"  {label}: {note[label]}")
    return "\n".join(lines)


def _other_place(other: Note, note: Note) -> str:
    return f"line {other['line']}" if other["file"] == note["file"] else place(other)


def _source(note: Note) -> list[str]:
    text = linecache.getline(note["file"], note["line"]).rstrip("\r\n") if note["line"] else ""
    if not text:
        return []
    number = str(note["line"])
    lines = [f"  {number} | {text}"]
    if 1 <= note["column"] <= len(text) + 1:
        lead = "".join("\t" if c == "\t" else " " for c in text[: note["column"] - 1])
        lines.append(f"  {' ' * len(number)} | {lead}^")
    return lines


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
