"""Whether a kernel has atomics or volatile loads: what tsan must know before a stepped launch.

A compiled kernel knows it from its program. A stepped one is read: most kernels do not mention
atomics at all. Where they do, a constexpr may switch them off, so the kernel is compiled as well,
and both modes come to the same answer. What only step mode can run is said to have them.
"""

import ast
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from blockscope.errors import CompilationError, NotYetSupported, SourceNotFound
from blockscope.frames import untraced
from blockscope.frontend import globals_rule, values
from blockscope.frontend.kernel_function import KernelFunction
from blockscope.frontend.names import dotted_names

#: tl.load takes `volatile` as its eighth argument.
_LOAD_ARGUMENTS = 8


def has_atomics(fn: Any, arguments: list[Any], compiled: Callable[[], Any]) -> bool:
    """Whether programs of the kernel ``fn`` can wait for one another; True when in doubt.

    ``compiled()`` gives the kernel compiled for the same arguments.
    """
    if not _mentions_atomics([fn, *(argument.value for argument in arguments)]):
        return False
    code = unseen(compiled)
    return True if code is None else bool(code.program.has_atomics)


def unseen(compiled: Callable[[], Any]) -> Any:
    """What ``compiled()`` gives, hidden from a debugger that steps into the launch; None for a
    kernel that only step mode can run, and so for nothing but an error that says this."""
    with untraced():
        try:
            return compiled()
        except (CompilationError, NotYetSupported):
            return None


def _mentions_atomics(found: list[Any]) -> bool:
    """Whether a value that a kernel uses, or what that uses in turn, may be an atomic."""
    seen: set[int] = set()
    todo = list(found)
    while todo:
        value = values.unwrap(todo.pop())
        if isinstance(value, KernelFunction):
            if id(value) in seen:
                continue
            seen.add(id(value))
            try:
                tree = value.function_source.tree
            except SourceNotFound:
                return True
            if any(_is_waiting(node) for node in ast.walk(tree)):
                return True
            todo.extend(_used_values(value.fn, tree))
        elif isinstance(value, tuple):
            todo.extend(value)
        elif callable(value) and not _is_harmless(value):
            return True
    return False


def _is_waiting(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        return "atomic" in node.attr
    if isinstance(node, ast.Call):
        return len(node.args) >= _LOAD_ARGUMENTS
    return isinstance(node, ast.keyword) and node.arg in ("volatile", None)


def _used_values(fn: types.FunctionType, tree: ast.AST) -> Iterator[Any]:
    """What the names and the dotted names of a function stand for, as far as they are known."""
    for name, path in dotted_names([tree]):
        value, _ = globals_rule.find(fn, name)
        for part in path:
            value = getattr(values.unwrap(value), part, None)
        yield value


def _is_harmless(value: Any) -> bool:
    """Whether a callable is one of the language, of the builtins or of Python's own modules."""
    if "atomic" in getattr(value, "__name__", ""):
        return False
    module = (getattr(value, "__module__", None) or "builtins").partition(".")[0]
    return module in ("blockscope", "builtins") or module in sys.stdlib_module_names
