"""Errors of a kernel's source: the user's file, line and caret, through nested calls."""

import ast
import difflib
import itertools
import linecache
import re
import sys
from typing import Any

from blockscope import errors
from blockscope.language import math
from blockscope.language.core import tensor
from blockscope.language.names_elsewhere import instead_of

_NAMES = {
    "Break": "'break'",
    "Continue": "'continue'",
    "Dict": "a dict",
    "Set": "a set",
    "Try": "'try'",
    "Raise": "'raise'",
    "ClassDef": "a class",
    "Yield": "'yield'",
    "Import": "'import'",
    "ImportFrom": "'import'",
    "Global": "'global'",
    "Nonlocal": "'nonlocal'",
    "Delete": "'del'",
    "DictComp": "a comprehension",
    "SetComp": "a comprehension",
    "GeneratorExp": "a generator expression",
    "Match": "'match'",
}
_HINTS = {
    "Break": "put the condition into a 'while'",
    "Continue": "put the rest of the body under an 'if'",
}


def _describe(generator: Any, node: ast.AST, message: str) -> str:
    """The error's text: place, message, line with a caret, and the calls that led there."""
    frame = generator.frame
    line = getattr(node, "lineno", frame.source.first_line)
    column = getattr(node, "col_offset", 0)
    parts = [f"{frame.source.file}:{line}:{column + 1}: error: {message}"]
    text = frame.source.line(line)
    if text:
        width = 1
        if getattr(node, "end_lineno", 0) == line:
            width = max(1, node.end_col_offset - column)  # type: ignore[attr-defined]
        parts += [f"  {text}", "  " + " " * column + "^" * width]
    calls = [inner.called_from for inner in reversed(generator.frames) if inner.called_from]
    for (file, at), same in itertools.groupby(calls):
        times = len(list(same))
        parts.append(f"  called from {file}:{at}" + (f", {times} times" if times > 1 else ""))
    return "\n".join(parts)


_PLACE = re.compile(r"(?P<file>[^\n]*):(?P<line>\d+):(?P<column>\d+): error: [^\n]*")


def with_source_line(text: str) -> str:
    """The text of a pass, which begins with its place, with the line there and a caret."""
    place = _PLACE.match(text)
    line = linecache.getline(place["file"], int(place["line"])).rstrip() if place else ""
    if not place or not line:
        return text
    caret = " " * (int(place["column"]) - 1) + "^"
    return f"{place[0]}\n  {line}\n  {caret}{text[place.end() :]}"


def _error(
    kind: type[errors.CompilationError], generator: Any, node: ast.AST, message: str
) -> errors.CompilationError:
    result = kind(_describe(generator, node, message))
    result.has_place = True
    result.error_message = message
    return result


def compile_error(generator: Any, node: ast.AST, error: Exception | str) -> errors.CompilationError:
    """Return a CompilationError at ``node``; one that already has a place stays as it is."""
    kind, message = errors.CompilationError, str(error)
    if isinstance(error, errors.CompilationError):
        if error.has_place:
            return error
        kind, message = type(error), error.error_message
    elif isinstance(error, RecursionError):
        message = (
            f"calls are nested {len(generator.frames)} deep, which is more than Python's limit of "
            f"{sys.getrecursionlimit()} frames allows; let the recursion end by constants, or "
            "raise the limit by sys.setrecursionlimit"
        )
    elif isinstance(error, KeyError | AssertionError) or not message:
        message = f"{type(error).__name__}: {message}"
    elif isinstance(error, AttributeError):
        message += _nearest_attribute(error)
    elif isinstance(error, TypeError) and message == "'dtype' object is not callable":
        message += "; x.to(tl.float32) converts"
    elif isinstance(error, IndexError) and _is_size(node):
        message = (
            f"'{ast.unparse(node)}' is not there; a block has a size for each of its dimensions, "
            "a pointer none: pass those of its tensor as arguments"
        )
    result = _error(kind, generator, node, message)
    result.__cause__ = _cause(error)
    return result


def _is_size(node: ast.AST) -> bool:
    """Whether an expression is an element of a shape."""
    of = node.value if isinstance(node, ast.Subscript) else None
    return isinstance(of, ast.Attribute) and of.attr == "shape"


def _cause(error: Exception | str) -> Exception | None:
    """What Triton's errors have as their cause: nothing for errors of the language itself; of a
    broken rule the sentence alone, which programs and tests compare."""
    if not isinstance(error, Exception) or isinstance(error, errors.CompilationError):
        return None
    sentence = getattr(error, "sentence", None)
    if sentence is None:
        return error
    return type(error)(sentence).with_traceback(error.__traceback__)


def _nearest_attribute(error: AttributeError) -> str:
    """What may have been meant by a name that an object lacks, as Python's tracebacks add it."""
    if error.obj is None or not error.name:
        return ""
    of_language = isinstance(error.obj, tensor) or error.obj is math
    if of_language and (hint := instead_of(error.name)):
        return hint
    public = [name for name in dir(error.obj) if not name.startswith("_")]
    near = difflib.get_close_matches(error.name, public, 1)
    return f"; did you mean '{near[0]}'?" if near else ""


def unsupported(
    generator: Any, node: ast.AST, what: str | None = None, hint: str | None = None
) -> errors.CompilationError:
    """Return the error for syntax that kernels cannot have."""
    name = type(node).__name__
    what = what or _NAMES.get(name, f"this syntax ({name})")
    hint = hint or _HINTS.get(name)
    message = f"{what} is not supported in a kernel" + (f"; {hint}" if hint else "")
    return _error(errors.UnsupportedLanguageConstruct, generator, node, message)
