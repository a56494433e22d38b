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
    goal: tuple[str, str | int] | None
    """Of `while name != goal:`, whose name changes by one step in each iteration."""


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
    return Deciding(tuple(sorted(names)), tuple(sorted(lines)), _count(loop, made_of))


def _count(loop: ast.While, made_of: list[tuple[str, ast.expr]]) -> tuple[str, str | int] | None:
    test, changed = loop.test, [name for name, _ in made_of]
    if not (isinstance(test, ast.Compare) and [type(op) for op in test.ops] == [ast.NotEq]):
        return None
    for at, goal in ((test.left, test.comparators[0]), (test.comparators[0], test.left)):
        if not isinstance(at, ast.Name) or not _is_fixed(goal, changed):
            continue
        steps = [node for node in loop.body if _is_step(node, at.id, changed)]
        if len(steps) == 1 and changed.count(at.id) == 1:
            return at.id, goal.id if isinstance(goal, ast.Name) else ast.literal_eval(goal)
    return None


def _is_step(node: ast.stmt, name: str, changed: list[str]) -> bool:
    """Whether a statement is `name += step`, or `-=`, of a step that the loop does not change."""
    if isinstance(node, ast.AugAssign):
        return _is_sum(node.target, node.op, node.value, name, changed)
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return False
    target, value = node.targets[0], node.value
    return (
        isinstance(target, ast.Name)
        and target.id == name
        and isinstance(value, ast.BinOp)
        and _is_sum(value.left, value.op, value.right, name, changed)
    )


def _is_sum(
    left: ast.expr, op: ast.operator, step: ast.expr, name: str, changed: list[str]
) -> bool:
    return (
        isinstance(left, ast.Name)
        and left.id == name
        and isinstance(op, ast.Add | ast.Sub)
        and _is_fixed(step, changed)
    )


def _is_fixed(value: ast.expr, changed: list[str]) -> bool:
    if isinstance(value, ast.Name):
        return value.id not in changed
    return isinstance(value, ast.Constant) and type(value.value) is int


def _bindings(node: ast.AST) -> list[tuple[ast.expr, ast.expr]]:
    if isinstance(node, ast.Assign):
        return [(target, node.value) for target in node.targets]
    if isinstance(node, ast.For):
        return [(node.target, node.iter)]
    if isinstance(node, ast.AugAssign | ast.NamedExpr | ast.AnnAssign) and node.value is not None:
        return [(node.target, node.value)]
    return []
