"""The file of results: a line of JSON for each point, written as it is known, so that a sweep that
was ended goes on where it was. It names the sources that decided them, and what was asked."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any, TextIO

from blockscope.sweep.result import Result

_FORMAT = "blockscope-sweep"
_VERSION = 2
_MOST_NAMED = 3
#: The way out of a file that cannot be gone on with.
_AGAIN = "--again runs all points again in its place, --output names another file"


class ResultsFile:
    """Results by the parameters of their point. ``asked`` says of which sweep they are, ``sources``
    are digests of what the launches are made of; with ``again``, earlier results are dropped.

    Errors: ValueError for a file of another sweep, of other sources, or of none; OSError.
    """

    def __init__(
        self, path: str, asked: str, sources: Mapping[str, str], *, again: bool = False
    ) -> None:
        self.path = path
        self.known: dict[str, Result] = {}
        self._sources: dict[str, str] = {}
        head = {"format": _FORMAT, "version": _VERSION, "asked": asked}
        end = 0
        if os.path.exists(path) and os.path.getsize(path):
            end = self._read(head, again)
            self._check_sources(sources)
        self._file: TextIO = open(path, "a", encoding="utf-8")  # noqa: SIM115
        self._file.truncate(end)
        if end == 0:
            self._write(head)
        self.add_sources(sources)

    def _read(self, head: dict[str, Any], again: bool) -> int:
        """Reads what is there; gives where the last whole line ends, 0 where none stays."""
        end = 0
        with open(self.path, "rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    if number == 1 and not _line(head).encode().startswith(line):
                        raise self._is_none()
                    break  # it was being written
                if number == 1:
                    self._check_head(line, head, again)
                    if again:
                        break
                else:
                    self._take(line, number)
                end += len(line)
        return end

    def _take(self, line: bytes, number: int) -> None:
        try:
            data = json.loads(line)
            sources = data.get("sources") if isinstance(data, dict) else None
            if isinstance(sources, dict):
                self._sources.update(sources)
            else:
                result = Result.of_json(data)
                self.known[key_of(result.point)] = result
        except (ValueError, RecursionError) as error:
            # What Python says of JSON names a place in the line, which helps nobody.
            why = "it is no JSON" if type(error) is not ValueError else str(error)
            raise ValueError(
                f"'{self.path}' is damaged in line {number}: {why}; remove the line, or {_AGAIN}"
            ) from None

    def _is_none(self) -> ValueError:
        return ValueError(
            f"'{self.path}' is there already, and is no file of results (--output names another)"
        )

    def _check_head(self, line: bytes, expected: dict[str, Any], again: bool) -> None:
        try:
            head = json.loads(line)
        except (ValueError, RecursionError):
            raise self._is_none() from None
        if not isinstance(head, dict) or head.get("format") != _FORMAT:
            raise self._is_none()
        if again:
            return
        if head.get("version") != _VERSION:
            raise ValueError(
                f"'{self.path}' has version {head.get('version')!r}, expected {_VERSION}; {_AGAIN}"
            )
        if head != expected:
            raise ValueError(
                f"'{self.path}' has results of another sweep (another function or launch, other "
                f"checks, formulas or options); {_AGAIN}"
            )

    def _check_sources(self, sources: Mapping[str, str]) -> None:
        """What a point imports when it runs is not among ``sources`` yet: the file names it."""
        changed = [
            name
            for name, digest in self._sources.items()
            if digest != (sources.get(name) or digest_of(name))
        ]
        if changed:
            named = ", ".join(_short(name) for name in changed[:_MOST_NAMED])
            more = ", ..." if len(changed) > _MOST_NAMED else ""
            raise ValueError(
                f"'{self.path}' has results from before {named}{more} changed; {_AGAIN}"
            )

    def add_sources(self, sources: Mapping[str, str]) -> None:
        new = {name: each for name, each in sources.items() if name not in self._sources}
        if new:
            self._sources.update(new)
            self._write({"sources": new})

    def add(self, result: Result) -> None:
        self.known[key_of(result.point)] = result
        self._write(result.as_json())

    def _write(self, data: Any) -> None:
        self._file.write(_line(data))
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def _line(data: Any) -> str:
    return json.dumps(data) + "\n"


def _short(name: str) -> str:
    """A path as seen from here, where that is shorter."""
    return f"'{min(name, os.path.relpath(name), key=len)}'" if os.path.isabs(name) else name


def digest_of(path: str) -> str:
    """The SHA-256 of a file, "" where there is none."""
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError:
        return ""


def key_of(point: dict[str, Any]) -> str:
    """Parameters by type and value, in any order of their names."""
    return json.dumps(point, sort_keys=True, default=repr)
