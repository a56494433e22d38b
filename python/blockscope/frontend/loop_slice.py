"""What decides whether a 'while' goes on: its condition, and what that comes of."""

from __future__ import annotations

import ast
from typing import NamedTuple


class Deciding(NamedTuple):
    """The names that the condition of a loop depends on, those of inner conditions among them, and
    the lines of the expressions that make their values; none where these call nothing, and so
    cannot look at memory."""

    names: tuple[str, ...]
    lines: tuple[int, ...]


def deciding(loop: ast.While) -> Deciding | None:
    """None for a loop that changes what has no name."""
    made_of: list[tuple[str, ast.expr]] = []
    expressions = [loop.test]
    for node in (inner for statement in loop.body for inner in ast.walk(statement)):
        if isinstance(node, ast.With | ast.Try | ast.FunctionDef | ast.Delete):
            return None
        if isinstance(node, ast.If | ast.While):
            expressions.append(node.test)
        elif isinstance(node, ast.For):
            expressions.append(node.iter)
        for target, value in _bindings(node):
            for part in ast.walk(target):
                if isinstance(part, ast.Attribute | ast.Subscript):
                    return None
                if isinstance(part, ast.Name):
                    made_of.append((part.id, value))
    names: set[str] = set()
    for expression in expressions:  # which grow
        new = {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)} - names
        names |= new
        expressions += [value for name, value in made_of if name in new]
    may_load = any(isinstance(node, ast.Call) for each in expressions for node in ast.walk(each))
    lines = {
        line
        for each in expressions
        for line in range(each.lineno, (each.end_lineno or 0) + 1)
        if may_load
    }
    return Deciding(tuple(sorted(names)), tuple(sorted(lines)))


def _bindings(node: ast.AST) -> list[tuple[ast.expr, ast.expr]]:
    if isinstance(node, ast.Assign):
        return [(target, node.value) for target in node.targets]
    if isinstance(node, ast.For):
        return [(node.target, node.iter)]
    if isinstance(node, ast.AugAssign | ast.NamedExpr | ast.AnnAssign) and node.value is not None:
        return [(node.target, node.value)]
    return []
