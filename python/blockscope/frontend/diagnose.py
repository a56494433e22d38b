"""Errors of a kernel's source: the user's file, line and caret, through nested calls."""

import ast
from typing import Any

from blockscope import errors

_NAMES = {
    "Break": "'break'",
    "Continue": "'continue'",
    "Lambda": "a lambda",
    "Dict": "a dict",
    "Set": "a set",
    "Try": "'try'",
    "Raise": "'raise'",
    "ClassDef": "a class",
    "FunctionDef": "a nested function",
    "Yield": "'yield'",
    "Import": "'import'",
    "ImportFrom": "'import'",
    "Global": "'global'",
    "Nonlocal": "'nonlocal'",
    "Delete": "'del'",
    "With": "'with'",
    "DictComp": "a comprehension",
    "SetComp": "a comprehension",
    "GeneratorExp": "a generator expression",
    "Match": "'match'",
}
_HINTS = {
    "Break": "put the condition into a 'while'",
    "Continue": "put the rest of the body under an 'if'",
    "FunctionDef": "define it beside the kernel with @jit",
}


def _place(generator: Any, node: ast.AST) -> dict[str, Any]:
    frame = generator.frame
    line = getattr(node, "lineno", frame.source.first_line)
    return {
        "file": frame.source.file,
        "line": line,
        "column": getattr(node, "col_offset", 0) + 1,
        "source_line": frame.source.line(line),
        "calls": [f.called_from for f in reversed(generator.frames) if f.called_from],
    }


def compile_error(
    generator: Any, node: ast.AST, error: Exception | str
) -> errors.CompilationError:
    """Return a CompilationError at ``node``; one that already has a place stays as it is."""
    if isinstance(error, errors.CompilationError) and error.line is not None:
        return error
    if isinstance(error, errors.CompilationError):
        message, kind = error.error_message or str(error), type(error)
    else:
        message = error if isinstance(error, str) else str(error)
        kind = errors.CompilationError
    if isinstance(error, KeyError | AssertionError | RecursionError) or not message:
        message = f"{type(error).__name__}: {message}"
    result = kind(None, None, message, **_place(generator, node))
    result.__cause__ = error if isinstance(error, Exception) else None
    return result


def unsupported(
    generator: Any, node: ast.AST, what: str | None = None, hint: str | None = None
) -> errors.CompilationError:
    """Return the error for syntax that kernels cannot have."""
    name = type(node).__name__
    what = what or _NAMES.get(name, f"this syntax ({name})")
    hint = hint or _HINTS.get(name)
    message = f"{what} is not supported in a kernel" + (f"; {hint}" if hint else "")
    return errors.UnsupportedLanguageConstruct(None, None, message, **_place(generator, node))
