"""Names in the syntax tree of a function."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any


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


_Place = tuple[int, int]
_EVERYWHERE = 1 << 30, 0


def loops_read_later(function: ast.AST) -> frozenset[_Place]:
    """The places of the loops whose variable may be read after them.

    A read counts if no loop over that name is around it, and if it comes after the loop in the
    text, or inside a loop around that one. One in a nested function may come at any time.
    """
    reads: list[tuple[str, _Place]] = []
    loops: list[tuple[ast.For, str, _Place]] = []  # with the place from which on reads count
    found: set[_Place] = set()

    def walk(node: ast.AST, counted: frozenset[str], outer: ast.AST | None, place: Any) -> None:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            if node.id not in counted:
                reads.append((node.id, place or _start(node)))
        elif isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            name = node.target.id
            loops.append((node, name, _start(outer) if outer else _end(node)))
            if name in counted:  # what follows in the outer loop reads this one's last value
                found.add(_start(node))
            walk(node.iter, counted, outer, place)
            for statement in node.body:
                walk(statement, counted | {name}, outer or node, place)
        else:
            is_function = isinstance(node, ast.FunctionDef | ast.Lambda) and node is not function
            inner = outer or (node if isinstance(node, ast.While) else None)
            for child in ast.iter_child_nodes(node):
                walk(child, counted, inner, _EVERYWHERE if is_function else place)

    walk(function, frozenset(), None, None)
    for loop, name, since in loops:
        if any(read == name and place >= since for read, place in reads):
            found.add(_start(loop))
    return frozenset(found)


def _start(node: Any) -> _Place:
    return node.lineno, node.col_offset


def _end(node: Any) -> _Place:
    return node.end_lineno, node.end_col_offset
