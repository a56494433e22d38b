"""Findings that are known and fail nothing: a file that ``--write-baseline`` makes and people edit.

It is TOML with a table ``[[finding]]`` for each. A finding is in it by its code, its file, its
kernel and the text of its line, so it is found again when lines move. An entry may leave kernel or
line out, which then may be any, have a pattern such as ``vendor/*.py`` for its file, and say why it
is there.
"""

from __future__ import annotations

import difflib
import fnmatch
import json
import linecache
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from blockscope import finding_codes, toml_file

_KEYS = ("code", "file", "kernel", "line", "reason")
_HEAD = """\
# Findings that are known and fail nothing. 'blockscope check --baseline' reads this file, and
# '--write-baseline' brings it up to date; a reason = "..." that is added to an entry stays.
"""


@dataclass(frozen=True)
class Entry:
    """``file`` is the path from the folder of the baseline, or a pattern. ``kernel`` and ``line``
    may be empty: any. ``place`` is the number of its line in the baseline, or 0."""

    code: str
    file: str
    kernel: str = ""
    line: str = ""
    reason: str = ""
    place: int = 0

    def key(self) -> tuple[str, str, str, str]:
        return self.file, self.kernel, self.code, self.line

    def is_for(self, other: Entry) -> bool:
        """Whether ``other``, made of a finding, is meant."""
        return (
            self.code == other.code
            and (self.file == other.file or fnmatch.fnmatchcase(other.file, self.file))
            and self.kernel in ("", other.kernel)
            and self.line in ("", other.line)
        )

    def text(self) -> str:
        """ "'oob-load' of kernel 'add' at 'x = tl.load(x_ptr)' in add.py"."""
        kernel = f" of kernel '{self.kernel}'" if self.kernel else ""
        line = f" at '{self.line}'" if self.line else ""
        return f"'{self.code}'{kernel}{line} in {self.file}"


class Baseline:
    """The entries of a file. One that ``accepts_all`` is being written: every finding is in it."""

    def __init__(
        self, path: str, entries: Iterable[Entry] = (), *, accepts_all: bool = False
    ) -> None:
        self.path = os.path.abspath(path)
        self.entries = tuple(entries)
        self.accepts_all = accepts_all
        self._cwd = os.getcwd()  # the script may go to another folder
        self._lines: dict[str, set[str]] = {}

    def name(self) -> str:
        """The path, below the present folder from there."""
        return self.path.removeprefix(self._cwd + os.sep)

    def entry_for(self, finding: Mapping[str, Any]) -> Entry | None:
        """What says that this finding is known."""
        made = self.made_of(finding)
        for entry in self.entries:
            if entry.is_for(made):
                return entry
        return made if self.accepts_all else None

    def reason_for(self, finding: Mapping[str, Any]) -> str:
        """Why a finding may be there; empty where it is not known."""
        entry = self.entry_for(finding)
        return "" if entry is None else entry.reason or f"it is in {self.name()}"

    def made_of(self, finding: Mapping[str, Any]) -> Entry:
        file = finding.get("file", "")
        text = linecache.getline(file, finding["line"]) or linecache.getline(
            self._absolute(file), finding["line"]
        )
        kernel = finding.get("kernel", "")
        return Entry(finding["code"], self.relative(file), kernel, text.strip())

    def relative(self, file: str) -> str:
        """A path from the folder of the baseline, with ``/``."""
        if not file or file.startswith("<"):
            return file
        below = os.path.relpath(self._absolute(file), os.path.dirname(self.path))
        return below.replace(os.sep, "/")

    def _absolute(self, file: str) -> str:
        return os.path.normpath(os.path.join(self._cwd, file))

    def uses(
        self,
        found: Iterable[Mapping[str, Any]],
        kernels: Iterable[tuple[str, str]],
        codes: set[str],
    ) -> dict[str, bool]:
        """Of each entry of which this can be told, as a sentence: whether it still occurs.

        ``found`` are findings of a run, ``kernels`` those that it launched, each with its file, and
        ``codes`` what its checks look for. An entry that can match no line any more does not.
        """
        launched = {(self.relative(file), name) for file, name in kernels}
        matched = {entry.key() for each in found if (entry := self.entry_for(each))}
        uses = {}
        for entry in self.entries:
            if entry.key() in matched:
                uses[self._sentence(entry)] = True
            elif not self._has_its_line(entry) or (
                entry.code in codes and any(_is_of(entry, *kernel) for kernel in launched)
            ):
                uses[self._sentence(entry)] = False
        return uses

    def _sentence(self, entry: Entry) -> str:
        return f"{self.name()}{f':{entry.place}' if entry.place else ''}: {entry.text()}"

    def _has_its_line(self, entry: Entry) -> bool:
        """Whether there may be such a finding: the file is there, and has the line."""
        if any(each in entry.file for each in "*?[") or entry.file.startswith("<"):
            return True
        file = os.path.normpath(os.path.join(os.path.dirname(self.path), entry.file))
        if file not in self._lines:
            self._lines[file] = {line.strip() for line in linecache.getlines(file)}
        return entry.line in self._lines[file] if entry.line else os.path.isfile(file)

    def update(self, found: Iterable[Mapping[str, Any]], stale: Iterable[str]) -> str:
        """Writes the entries of findings, with the reasons that there were, and those of which
        nothing is known, without those of the sentences in ``stale``. Gives what is to be said.

        Errors: OSError.
        """
        dropped = set(stale)
        kept = {e.key(): e for e in self.entries if self._sentence(e) not in dropped}
        before = len(kept)
        for finding in found:
            entry = self.entry_for(finding)
            if entry is not None:
                kept.setdefault(entry.key(), entry)
        self._write([kept[key] for key in sorted(kept)])
        count = f"{len(kept)} entr{'y' if len(kept) == 1 else 'ies'}"
        new, gone = len(kept) - before, len(self.entries) - before
        return f"wrote {self.name()}: {count}, {new} new, {gone} dropped"

    def _write(self, entries: Iterable[Entry]) -> None:
        tables = [
            "\n".join(["[[finding]]", *(f"{n} = {_quoted(getattr(e, n))}" for n in _KEYS
                                        if getattr(e, n))])
            for e in entries
        ]  # fmt: skip
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("\n\n".join([_HEAD.rstrip("\n"), *tables]) + "\n")


def _is_of(entry: Entry, file: str, kernel: str) -> bool:
    return entry.kernel in ("", kernel) and (
        entry.file == file or fnmatch.fnmatchcase(file, entry.file)
    )


def _quoted(text: str) -> str:
    """A string of TOML, whose escapes are those of JSON."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def read(path: str | os.PathLike[str], *, accepts_all: bool = False) -> Baseline:
    """The baseline in a file; one that ``accepts_all`` needs none.

    Errors: ValueError that names file and entry.
    """
    file = os.fsdecode(path)
    if not os.path.exists(file) and accepts_all:
        return Baseline(file, accepts_all=True)
    try:
        with open(file, "rb") as stream:
            text = stream.read()
    except FileNotFoundError:
        raise ValueError(
            f"there is no baseline '{file}'; blockscope check --write-baseline {file} makes one"
        ) from None
    except OSError as error:
        raise ValueError(f"baseline '{file}' cannot be read: {error.strerror}") from None
    tables = toml_file.parsed(f"baseline '{file}'", text)
    rows = tables.pop("finding", [])
    if tables or not isinstance(rows, list):
        found = f"'{next(iter(tables))}'" if tables else "finding = ..."
        raise ValueError(f"baseline '{file}' has {found}, expected tables [[finding]] only")
    heads = [n for n, line in enumerate(text.split(b"\n"), 1) if line.strip() == b"[[finding]]"]
    places = heads if len(heads) == len(rows) else [0] * len(rows)
    entries = [
        replace(_entry(f"baseline '{file}', entry {number}", row), place=place)
        for number, (row, place) in enumerate(zip(rows, places, strict=True), 1)
    ]
    return Baseline(file, entries, accepts_all=accepts_all)


def _entry(where: str, row: Any) -> Entry:
    if not isinstance(row, dict):
        raise ValueError(f"{where} is {row!r}, expected a table [[finding]]")
    for key, value in row.items():
        if key not in _KEYS:
            near = difflib.get_close_matches(key, _KEYS, 1)
            hint = f"did you mean '{near[0]}'?" if near else f"known are {', '.join(_KEYS)}"
            raise ValueError(f"{where} has the unknown key '{key}'; {hint}")
        if not isinstance(value, str):
            raise ValueError(f"{where}: {key} is {value!r}, expected a text")
    for key in ("code", "file"):
        if not row.get(key):
            raise ValueError(f"{where} has no {key}")
    if problem := finding_codes.problem_of(row["code"]):
        raise ValueError(f"{where}: {problem}")
    return Entry(**{**row, "line": row.get("line", "").strip()})
