"""The file of results: a line of JSON for each point, written as it is known, so that a sweep that
was ended goes on where it was."""

from __future__ import annotations

import json
import os
from typing import Any, TextIO

from blockscope.sweep.result import Result

_FORMAT = "blockscope-sweep"
_VERSION = 1


class ResultsFile:
    """Results by the parameters of their point. ``identity`` says of what they are.

    Errors: ValueError for a file of another sweep, or of none; OSError.
    """

    def __init__(self, path: str, identity: str) -> None:
        self.path = path
        self.known: dict[str, Result] = {}
        end = self._read(identity) if os.path.exists(path) and os.path.getsize(path) else None
        self._file: TextIO = open(path, "a", encoding="utf-8")  # noqa: SIM115
        if end is None:
            self._write({"format": _FORMAT, "version": _VERSION, "identity": identity})
        else:
            self._file.truncate(end)

    def _read(self, identity: str) -> int | None:
        """Reads what is there; gives where the last whole line ends."""
        end = 0
        with open(self.path, "rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    break  # it was being written
                data = self._data(line, number)
                if number == 1:
                    self._check_head(data, identity)
                else:
                    try:
                        result = Result.of_json(data)
                    except ValueError as error:
                        raise ValueError(
                            f"'{self.path}' is damaged in line {number}: {error}"
                        ) from None
                    self.known[key_of(result.point)] = result
                end += len(line)
        return end or None

    def _data(self, line: bytes, number: int) -> Any:
        try:
            return json.loads(line)
        except (ValueError, RecursionError):
            what = "is no file of results" if number == 1 else f"is damaged in line {number}"
            raise ValueError(f"'{self.path}' {what}, expected lines of JSON") from None

    def _check_head(self, head: Any, identity: str) -> None:
        if not isinstance(head, dict) or head.get("format") != _FORMAT:
            raise ValueError(f"'{self.path}' is there already, and is no file of results")
        if head.get("version") != _VERSION:
            raise ValueError(
                f"'{self.path}' has version {head.get('version')!r}, expected {_VERSION}"
            )
        if head.get("identity") != identity:
            raise ValueError(
                f"'{self.path}' has results of another sweep (other launches, checks, formulas or "
                "source); remove it, or name another file with --output"
            )

    def add(self, result: Result) -> None:
        self.known[key_of(result.point)] = result
        self._write(result.as_json())

    def _write(self, data: Any) -> None:
        self._file.write(json.dumps(data) + "\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def key_of(point: dict[str, Any]) -> str:
    """Parameters by type and value, in any order of their names."""
    return json.dumps(point, sort_keys=True, default=repr)
