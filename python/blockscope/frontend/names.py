"""Names in the syntax tree of a function."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator


def dotted_names(trees: Iterable[ast.AST]) -> Iterator[tuple[str, list[str]]]:
    """Every name and dotted name: ``a.b.c`` gives ``a`` with ``b, c``, with ``b``, and alone."""
    for tree in trees:
        for node in ast.walk(tree):
            path: list[str] = []
            inner = node
            while isinstance(inner, ast.Attribute):
                path.insert(0, inner.attr)
                inner = inner.value
            if isinstance(inner, ast.Name):
                yield inner.id, path
