"""Which variables of a module its author has annotated as constants: ``X: tl.constexpr = 3``.

Python keeps annotations in a dict, from 3.14 on in a function that makes them when it is asked and
that fails when one of them cannot be evaluated. So what they do not say is read off the syntax.
"""

from __future__ import annotations

import ast
from typing import Any

from blockscope.errors import SourceNotFound
from blockscope.frontend import syntax_tree
from blockscope.frontend.annotation import text_of
from blockscope.frontend.source import lines_around

_VALUE = 1  # annotationlib.Format.VALUE


def is_constexpr(fn: Any, name: str) -> bool:
    """Whether the module of a Python function annotates its variable ``name`` so."""
    annotation = _made(fn.__globals__).get(name)
    if annotation is None:
        try:
            annotation = written("".join(lines_around(fn)), name)
        except (SourceNotFound, SyntaxError):
            return False
    return text_of(annotation).rpartition(".")[2] == "constexpr"


def written(text: str, name: str) -> str | None:
    """The annotation of a variable in the text of a module; None where there is none.

    Errors: SyntaxError.
    """
    statements = list(syntax_tree.parse(text).body)
    found = None
    for statement in statements:  # grows: what is in an 'if' or a 'try' is of the module too
        for body in ("body", "orelse", "finalbody", "handlers"):
            if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                statements += getattr(statement, body, [])
        if (
            isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Name)
            and statement.target.id == name
        ):
            found = _text(statement.annotation)
    return found


def _text(annotation: ast.expr) -> str:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value
    return ast.unparse(annotation)


def _made(module: dict[str, Any]) -> dict[str, Any]:
    found = module.get("__annotations__")
    if found is None and callable(make := module.get("__annotate__")):
        try:
            found = make(_VALUE)
        except Exception:  # one of them names what is not there
            return {}
    return found or {}
