"""Which files are the user's: neither Python's own, nor installed, nor of this package."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterable


def users_files(files: Iterable[str]) -> set[str]:
    """Those of the files that somebody edits between two runs."""
    folders = {os.path.realpath(each) for each in sysconfig.get_paths().values()}
    folders.add(os.path.realpath(os.path.dirname(__file__)))
    folders |= {each for each in sys.path if each.endswith(("site-packages", "dist-packages"))}
    others = tuple(folder + os.sep for folder in folders if folder != "/")
    return {file for file in files if not os.path.realpath(file).startswith(others)}
