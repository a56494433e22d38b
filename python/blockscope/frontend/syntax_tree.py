"""Python's syntax trees, made and compiled by one thread at a time.

CPython 3.11 counts the depth of a tree in a place that all threads share, and raises SystemError
("recursion depth mismatch") when two of them are at it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import CodeType
from typing import TypeVar

from blockscope.process_lock import ProcessLock

T = TypeVar("T")

_ATTEMPTS = 10
_one_thread = ProcessLock()


def parse(text: str) -> ast.Module:
    """``ast.parse``. Errors: SyntaxError."""
    return _alone(lambda: ast.parse(text))


def compile_tree(module: ast.Module, file: str) -> CodeType:
    """The code of a module of which ``file`` is the source, with no flags of this module's own."""
    return _alone(lambda: compile(module, file, "exec", dont_inherit=True))


def _alone(work: Callable[[], T]) -> T:
    with _one_thread:
        for _ in range(_ATTEMPTS - 1):
            try:
                return work()
            except SystemError:  # a thread of the program itself, outside of our lock
                continue
        return work()
