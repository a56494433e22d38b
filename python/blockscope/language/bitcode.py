"""Libraries of LLVM bitcode that kernels call functions of (``extern_libs``)."""

from __future__ import annotations

import hashlib
import os
from typing import NamedTuple


class Library(NamedTuple):
    """A file, and what stands for its contents in the keys of kernels."""

    path: str
    digest: str


_known: dict[tuple[str, int, int], Library] = {}


def library(path: str) -> Library:
    """The library at ``path``, read again when the file has changed. Errors: OSError."""
    status = os.stat(path)
    key = (path, status.st_size, status.st_mtime_ns)
    found = _known.get(key)
    if found is None:
        with open(path, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        found = _known[key] = Library(path, digest[:16])
    return found
