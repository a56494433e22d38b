"""The source text and syntax tree of a kernel function, with positions as in its file."""

from __future__ import annotations

import ast
import inspect
import itertools
import linecache
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from types import CodeType
from typing import Any

from blockscope.errors import SourceNotFound
from blockscope.frontend import syntax_tree
from blockscope.frontend.names import loops_read_later
from blockscope.lazy import lazy_property

_DEFINITION = re.compile(r"^[ \t]*def[ \t]+(\w+)", re.MULTILINE)
_numbers = itertools.count(1)


def lines_around(fn: Callable[..., Any]) -> Sequence[str]:
    """The lines of the file, the notebook cell or the command that ``fn`` is from, as they are now.

    They are taken when a function is decorated: a file may be edited before the first launch. Empty
    where Python keeps no text, as for what ``exec`` made.
    """
    file = _code(fn).co_filename
    if file not in linecache.cache or os.path.exists(file):
        linecache.checkcache(file)  # an entry without a file is somebody's own, and stays
    lines = linecache.getlines(file, fn.__globals__)
    if not lines and hasattr(linecache, "_getlines_from_code"):  # a prompt, from Python 3.13 on
        lines = linecache._getlines_from_code(_code(fn))
    if not lines and fn.__module__ == "__main__":
        lines = {"<string>": _command, "<stdin>": _standard_input}.get(file, str)().splitlines(True)
    return lines


def _code(fn: Callable[..., Any]) -> CodeType:
    """The code of the function as it was written, below decorators that say what they wrap."""
    inner = inspect.unwrap(fn)
    return inner.__code__ if inspect.isfunction(inner) else fn.__code__


def _command() -> str:
    """The text after ``python -c``."""
    place = len(sys.orig_argv) - len(sys.argv)
    if not sys.argv or sys.argv[0] != "-c" or place < 1:
        return ""
    text = sys.orig_argv[place]
    return text[2:] if text.startswith("-c") else text


def _standard_input() -> str:
    """The program that Python read from a file on its standard input; a pipe's is gone."""
    try:
        return os.pread(0, os.fstat(0).st_size, 0).decode()
    except (OSError, ValueError):
        return ""


class FunctionSource:
    """One Python function: its text, its tree with absolute line numbers, its file.

    ``lines`` are those of ``lines_around``, when they were taken before. A text in
    ``fn.__source__`` goes before the file's.

    Errors: SourceNotFound when there is no text, or another one in this place, with what to do.
    """

    _file = ""
    _follows_code = False  # its file is what the function's code says at the time

    def __init__(self, fn: Callable[..., Any], lines: Sequence[str] | None = None) -> None:
        self.fn = fn
        own = getattr(fn, "__source__", None)
        if isinstance(own, str):
            self.replace(own)
            return
        code = _code(fn)
        lines = lines_around(fn) if lines is None else lines
        text = "".join(inspect.getblock(lines[code.co_firstlineno - 1 :]))
        self._set(text, code.co_filename, code.co_firstlineno)
        if not self._defines(code):
            raise SourceNotFound(_no_source(fn, found=bool(text)))

    @classmethod
    def written(cls, fn: Callable[..., Any], text: str) -> FunctionSource:
        """The source of a function that has none of its own."""
        source = cls.__new__(cls)
        source.fn = fn
        source.replace(text)
        return source

    @property
    def file(self) -> str:
        return _code(self.fn).co_filename if self._follows_code else self._file

    def place(self, line: int) -> None:
        """Have the ``def`` stand on this line of the file that the function's code names."""
        inside = self.text.count("\n", 0, start_of_definition(self.text))
        self._set(self._whole, self._file, max(1, line - inside))
        self._follows_code = True

    def replace(self, text: str) -> None:
        """Take ``text``, a whole definition, for the function's source from now on.

        It keeps its place if it defines the function that was there before; else it gets a file
        name of its own, under which debuggers and tracebacks find it.
        """
        text = re.sub(r"\A\s*\n", "", text)
        name = _defined_name(text)
        if self.file and _defined_name(self.text) == name:
            before = self.text.count("\n", 0, start_of_definition(self.text))
            inside = text.count("\n", 0, start_of_definition(text))
            self._set(text, self.file, max(1, self.first_line + before - inside))
            return
        file = f"<kernel {name} {next(_numbers)}>"
        linecache.cache[file] = len(text), None, text.splitlines(True), file
        self._set(text, file, 1)

    def _set(self, text: str, file: str, first_line: int) -> None:
        self._file = file
        self._follows_code = False
        self.first_line = first_line
        self.indent = len(text) - len(text.lstrip(" \t"))
        self.text = textwrap.dedent(text)
        self._whole = text
        for name in ("tree", "loops_read_later"):
            self.__dict__.pop(name, None)

    def _defines(self, code: CodeType) -> bool:
        """Whether the text is, as far as it shows, what ``code`` was compiled from."""
        if code.co_name == "<lambda>":
            return bool(self.text)  # refused by ``tree``
        if not self._whole.lstrip(" \t").startswith(("@", "def")):
            return False
        try:
            found = self.definition()
        except (SyntaxError, TypeError):
            return False
        arguments = found.args
        names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        count = code.co_argcount + code.co_kwonlyargcount
        return found.name == code.co_name and names == list(code.co_varnames[:count])

    @lazy_property
    def tree(self) -> ast.FunctionDef:
        """The function's definition; lines are those of the file, columns count from 0."""
        return self.definition()

    @lazy_property
    def loops_read_later(self) -> frozenset[tuple[int, int]]:
        """The places of the loops whose variable may be read after them."""
        return loops_read_later(self.tree)

    def definition(self) -> ast.FunctionDef:
        """A tree of its own, as ``tree``. Errors: SyntaxError; TypeError for a lambda."""
        # An indented definition is parsed where it stands: its strings are as they were written.
        under = "if 1:\n" if self.indent else ""
        module = syntax_tree.parse(under + self._whole)
        body: list[ast.stmt] = module.body
        if under:
            block = body[0]
            assert isinstance(block, ast.If)
            body = block.body
        definition = body[0] if body else None
        if not isinstance(definition, ast.FunctionDef):
            raise TypeError(f"@jit needs a function defined by 'def', found '{self.fn!r}'")
        ast.increment_lineno(definition, self.first_line - (2 if under else 1))
        return definition

    def line(self, number: int) -> str:
        """The text of an absolute line, or ''."""
        index = number - self.first_line
        lines = self._whole.splitlines()
        return lines[index] if 0 <= index < len(lines) else ""


def start_of_definition(text: str) -> int:
    found = _DEFINITION.search(text)
    return found.start() if found else 0


def _defined_name(text: str) -> str:
    found = _DEFINITION.search(text)
    if found is None:
        raise ValueError(f"the source of a kernel is {text[:40]!r}, expected a 'def' with its body")
    return found.group(1)


def _no_source(fn: Callable[..., Any], *, found: bool) -> str:
    code = _code(fn)
    place = f"line {code.co_firstlineno} of '{code.co_filename}'"
    why = f"{place} holds another text" if found else f"Python keeps no text for {place}"
    return (
        f"cannot read the source of @jit function '{fn.__name__}': {why}; define it in a file, "
        "enter its text in linecache.cache, set fn.__source__ before @jit, or run it step by step "
        "(TRITON_INTERPRET=1), which needs no source"
    )


def assigned_names(statements: list[ast.stmt]) -> set[str]:
    """The names that any of the statements may bind, in nested blocks too."""
    return {node.id for node in _bound(statements)}


def lines_that_assign(statements: list[ast.stmt], name: str) -> set[int]:
    """The lines where any of the statements may bind a name, in nested blocks too."""
    return {node.lineno for node in _bound(statements) if node.id == name}


def _bound(statements: list[ast.stmt]) -> Iterator[ast.Name]:
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node


def contains(statements: list[ast.stmt], kind: type[ast.AST]) -> bool:
    """Whether a node of this kind is among the statements, but for those of nested functions."""
    todo: list[ast.AST] = list(statements)
    while todo:
        node = todo.pop()
        if isinstance(node, kind):
            return True
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            todo.extend(ast.iter_child_nodes(node))
    return False
