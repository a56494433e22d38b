"""The launch option ``extern_libs``: bitcode by name, from a dict or from pairs."""

from __future__ import annotations

import os
from typing import Any

from blockscope.language.bitcode import Library, library

#: The name of NVIDIA's library, which the CPU has functions of its own for.
LIBDEVICE = "libdevice"


def pairs(given: Any) -> tuple[tuple[str, str], ...]:
    """Names and absolute paths. Errors: TypeError, FileNotFoundError with the name."""
    found = []
    for pair in given.items() if isinstance(given, dict) else given or ():
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(
                f"extern_libs has {pair!r}, expected names and paths: {{'name': 'path.bc'}}"
            )
        name, path = str(pair[0]), os.path.abspath(str(pair[1]))
        if not os.path.isfile(path):
            raise FileNotFoundError(f"extern_libs names '{pair[1]}' as {name}, which is not there")
        found.append((name, path))
    return tuple(found)


def libraries_of(given: Any) -> tuple[Library, ...]:
    """The libraries of users that ``extern_libs`` names."""
    return tuple(library(path) for name, path in pairs(given) if name != LIBDEVICE)
