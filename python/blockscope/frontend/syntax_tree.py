"""Python's syntax trees, made and compiled by one thread at a time.

CPython 3.11 counts the depth of a tree in a place that all threads share, and raises SystemError
("recursion depth mismatch") when two of them are at it.

What Python warns of in a text it has said when it compiled the text itself.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import CodeType
from typing import Any, TypeVar

from blockscope.process_lock import ProcessLock

T = TypeVar("T")

_ATTEMPTS = 10
_one_thread = ProcessLock()
_SILENT = [  # rows of warnings.filters; the second is for a '\\d' before Python 3.12
    ("ignore", None, SyntaxWarning, None, 0),
    ("ignore", None, DeprecationWarning, None, 0),
]


def parse(text: str) -> ast.Module:
    """``ast.parse``. Errors: SyntaxError."""
    return _alone(lambda: ast.parse(text))


def compile_tree(module: ast.Module, file: str) -> CodeType:
    """The code of a module of which ``file`` is the source, with no flags of this module's own."""
    return _alone(lambda: compile(module, file, "exec", dont_inherit=True))


def _alone(work: Callable[[], T]) -> T:
    with _one_thread, _without_warnings():
        for _ in range(_ATTEMPTS - 1):
            try:
                return work()
            except SystemError:  # a thread of the program itself, outside of our lock
                continue
        return work()


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Not by ``catch_warnings``: what other threads change meanwhile stays, and what was said once
    is not said again."""
    filters: Any = warnings.filters
    filters[:0] = _SILENT
    try:
        yield
    finally:
        for row in _SILENT:
            with suppress(ValueError):  # another thread has taken all away
                filters.remove(row)
