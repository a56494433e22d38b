"""Where findings are, as code hosts name places: paths from the root of the repository."""

from __future__ import annotations

import linecache
import os
from pathlib import Path
from typing import Any


class Sources:
    """Made before the script runs, which may go to another folder.

    ``root`` is ``GITHUB_WORKSPACE``, where that is set and the script runs in it, else the nearest
    folder above with a ``.git``, else the present one.
    """

    def __init__(self) -> None:
        self._cwd = os.getcwd()
        self.root = _root(self._cwd)

    def relative(self, file: str) -> str | None:
        """The path from the root, with ``/``; an absolute one for a file that is not below it; None
        for code that is in no file."""
        if not file or file.startswith("<"):
            return None
        path = os.path.normpath(os.path.join(self._cwd, file))
        inside = os.path.relpath(path, self.root)
        return Path(path if inside.startswith("..") else inside).as_posix()

    def uri(self, file: str) -> str:
        """The ``file:`` URI of a file or folder; that of a folder ends in ``/``."""
        path = os.path.normpath(os.path.join(self._cwd, file))
        return Path(path).as_uri() + ("/" if os.path.isdir(path) else "")

    def line(self, place: dict[str, Any]) -> str:
        """The source line of a place, or nothing where it cannot be read."""
        file = os.path.join(self._cwd, place["file"])
        text = linecache.getline(place["file"], place["line"]) or linecache.getline(
            file, place["line"]
        )
        return text.rstrip("\r\n")

    def column(self, place: dict[str, Any]) -> int:
        """The column of a place in characters, from 1; Python counts bytes of UTF-8."""
        before = self.line(place).encode()[: max(0, place["column"] - 1)]
        return len(before.decode(errors="replace")) + 1 if before else max(1, place["column"])


def _root(folder: str) -> str:
    workspace = os.environ.get("GITHUB_WORKSPACE", "")
    if workspace and os.path.isdir(workspace):
        workspace = os.path.realpath(workspace)
        if os.path.commonpath([workspace, os.path.realpath(folder)]) == workspace:
            return workspace
    above = Path(folder)
    for each in (above, *above.parents):
        if (each / ".git").exists():
            return str(each)
    return folder
