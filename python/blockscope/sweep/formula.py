"""Small formulas on the command line, such as ``cdiv(n, BLOCK)``: read, never run as Python."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

_MOST = 1 << 62
_BINARY: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def _cdiv(a: int, b: int) -> int:
    return -(-a // b)


def _next_power_of_2(n: int) -> int:
    return 1 << max(n - 1, 0).bit_length()


_FUNCTIONS: dict[str, Callable[..., int]] = {
    "cdiv": _cdiv,
    "next_power_of_2": _next_power_of_2,
    "min": min,
    "max": max,
}


class Formula:
    """``names`` are the parameters that it takes. Errors: ValueError for what is none."""

    def __init__(self, text: str) -> None:
        self.text = text.strip()
        try:
            tree: ast.expr = ast.parse(self.text, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise ValueError(f"'{self.text}' is no formula such as cdiv(n, BLOCK)") from None
        if isinstance(tree, ast.Lambda):  # as it stands in the script: lambda meta: (...)
            tree = tree.body
        self._parts = list(tree.elts) if isinstance(tree, ast.Tuple | ast.List) else [tree]
        self.names: set[str] = set()
        for part in self._parts:
            self._read(part)

    def values(self, name: Callable[[str], Any]) -> list[int]:
        """A number for each part of a tuple. ``name`` gives parameters.

        Errors: ValueError where it has no value.
        """
        return [self._value(part, name) for part in self._parts]

    def value(self, name: Callable[[str], Any]) -> int:
        found = self.values(name)
        if len(found) != 1:
            raise ValueError(f"'{self.text}' has {len(found)} parts, expected one number")
        return found[0]

    def parts(self) -> list[Formula]:
        """A formula for each part of a tuple."""
        return [Formula(ast.unparse(part)) for part in self._parts]

    def _read(self, tree: ast.expr) -> None:
        if (name := _name(tree)) is not None:
            self.names.add(name)
        elif isinstance(tree, ast.BinOp) and type(tree.op) in _BINARY:
            self._read(tree.left)
            self._read(tree.right)
        elif isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
            self._read(tree.operand)
        elif isinstance(tree, ast.Call) and _function(tree) in _FUNCTIONS and not tree.keywords:
            for each in tree.args:
                self._read(each)
        elif not (isinstance(tree, ast.Constant) and type(tree.value) is int):
            raise ValueError(
                f"'{ast.unparse(tree)}' in '{self.text}' is not understood, expected names, whole "
                f"numbers, + - * // %, and {', '.join(_FUNCTIONS)}"
            )

    def _value(self, tree: ast.expr, name: Callable[[str], Any]) -> int:
        if (named := _name(tree)) is not None:
            value = name(named)
            if type(value) is not int:
                raise ValueError(
                    f"'{named}' in '{self.text}' is {value!r}, expected a whole number"
                )
            return value
        if isinstance(tree, ast.Constant):
            return int(tree.value)  # type: ignore[arg-type]
        try:
            if isinstance(tree, ast.BinOp):
                left, right = self._value(tree.left, name), self._value(tree.right, name)
                found = _BINARY[type(tree.op)](left, right)
            elif isinstance(tree, ast.UnaryOp):
                found = -self._value(tree.operand, name)
            else:
                assert isinstance(tree, ast.Call)
                found = _FUNCTIONS[_function(tree)](*[self._value(a, name) for a in tree.args])
        except (ZeroDivisionError, TypeError) as error:
            raise ValueError(f"'{self.text}' has no value: {error}") from None
        if abs(found) > _MOST:
            raise ValueError(f"'{self.text}' is larger than any number of a launch")
        return found


def _name(tree: ast.expr) -> str | None:
    """A parameter: ``n``, ``x.shape[0]``, and as scripts write it ``meta["BLOCK"]``."""
    if isinstance(tree, ast.Name):
        return tree.id
    if isinstance(tree, ast.Subscript) and isinstance(tree.slice, ast.Constant):
        of, key = tree.value, tree.slice.value
        if isinstance(of, ast.Name) and isinstance(key, str):
            return key
        if type(key) is int and ast.unparse(of).endswith(".shape"):
            return f"{ast.unparse(of)}[{key}]"
    return None


def _function(tree: ast.Call) -> str:
    """``cdiv``, or as scripts write it ``triton.cdiv``."""
    if isinstance(tree.func, ast.Attribute) and isinstance(tree.func.value, ast.Name):
        return tree.func.attr if tree.func.value.id in ("triton", "tl") else ""
    return tree.func.id if isinstance(tree.func, ast.Name) else ""
