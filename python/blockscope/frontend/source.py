"""The source text and syntax tree of a kernel function, with positions as in its file."""

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from blockscope.frontend import syntax_tree
from blockscope.lazy import lazy_property


class FunctionSource:
    """One Python function: its text, its tree with absolute line numbers, its file.

    Errors: OSError when Python cannot find the source (a function typed at a prompt or made by
    ``exec``), with what to do instead.
    """

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn
        self.file = inspect.getsourcefile(fn) or fn.__code__.co_filename
        try:
            lines, first_line = inspect.getsourcelines(fn)
        except (OSError, TypeError) as error:
            raise OSError(
                f"cannot read the source of @jit function '{fn.__name__}' ({error}): "
                "define it in a file"
            ) from None
        text = "".join(lines)
        self.first_line = first_line
        self.indent = len(text) - len(text.lstrip(" \t"))
        self.text = textwrap.dedent(text)

    @lazy_property
    def tree(self) -> ast.FunctionDef:
        """The function's definition; lines are those of the file, columns count from 0."""
        module = syntax_tree.parse(self.text)
        definition = module.body[0]
        if not isinstance(definition, ast.FunctionDef):
            raise TypeError(f"@jit needs a function defined by 'def', found '{self.fn!r}'")
        ast.increment_lineno(module, self.first_line - 1)
        if self.indent:
            for node in ast.walk(module):
                if isinstance(node, ast.expr | ast.stmt | ast.arg | ast.keyword | ast.alias):
                    node.col_offset += self.indent
                    node.end_col_offset = (node.end_col_offset or 0) + self.indent
        return definition

    def line(self, number: int) -> str:
        """The text of an absolute line, or ''."""
        index = number - self.first_line
        lines = self.text.splitlines()
        return " " * self.indent + lines[index] if 0 <= index < len(lines) else ""


def assigned_names(statements: list[ast.stmt]) -> set[str]:
    """The names that any of the statements may bind, in nested blocks too."""
    names: set[str] = set()
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
    return names


def contains(statements: list[ast.stmt], kind: type[ast.AST]) -> bool:
    """Whether a node of this kind is among the statements or inside them."""
    return any(isinstance(node, kind) for s in statements for node in ast.walk(s))
