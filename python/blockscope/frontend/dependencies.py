"""What a kernel's code depends on besides its arguments: its source and all that this uses.

The source of a function alone does not say what it compiles to. It calls other functions, and reads
constants of its module and of the functions around it. ``source_key`` follows every name that the
function's tree can reach, and what those functions reach in turn.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import re
import types
from collections.abc import Iterator
from typing import Any

from blockscope.frontend import globals_rule, syntax_tree
from blockscope.frontend.names import dotted_names
from blockscope.frontend.source import FunctionSource
from blockscope.language import core

_DECORATORS = re.compile(r"\A.*?(?=^def\s)", re.DOTALL | re.MULTILINE)


def source_key(function: Any) -> str:
    """A hash that changes when anything does that the compiled code of ``function`` may depend on.

    ``function`` is a kernel function or a Python function. Two kernels with the same key compile to
    the same code for the same arguments, in any process; the opposite need not hold.
    """
    digest = hashlib.sha256()
    for part in _parts(function, set()):
        data = part.encode("utf-8", "surrogatepass")
        digest.update(f"{len(data)}:".encode() + data)
    return digest.hexdigest()


def _parts(function: Any, seen: set[int]) -> Iterator[str]:
    """The texts that the key is made of, in an order that depends on the source alone."""
    python = _python_function(function)
    if python is None or id(python) in seen:
        return
    seen.add(id(python))
    try:
        source = getattr(function, "function_source", None) or FunctionSource(python)
        tree = source.tree
    except (OSError, TypeError, SyntaxError):  # no source: its bytecode stands for it
        code = python.__code__
        yield f"{python.__qualname__} {code.co_code.hex()} {code.co_names} {_text(code.co_consts)}"
        return
    yield f"line {tree.lineno}\n{_DECORATORS.sub('', source.text)}"
    yield f"defaults {_text(python.__defaults__)} {_text(python.__kwdefaults__)}"
    for name, value in _used(python, tree):
        if _python_function(value) is not None and not _is_of_the_language(value):
            yield f"{name} is a function"
            yield from _parts(value, seen)
        else:
            yield f"{name} = {_constant(value)}"


def _used(python: types.FunctionType, tree: ast.FunctionDef) -> list[tuple[str, Any]]:
    """Names in the body that are found outside the function; of modules, what is read there."""
    found: dict[str, Any] = {}
    own = own_names(tree)
    names = [named for named in dotted_names(tree.body) if named[0] not in own]
    names += dotted_names([tree.args])  # defaults and annotations
    for name, path in names:
        value, where = globals_rule.find(python, name)
        if where in (None, "builtin"):
            continue
        for attribute in path:
            if not isinstance(value, types.ModuleType) or not hasattr(value, attribute):
                break
            name, value = f"{name}.{attribute}", getattr(value, attribute)
        found[name] = value
    return sorted(found.items())


def own_names(tree: ast.FunctionDef) -> set[str]:
    """The names that are the function's own, whatever its module has under them."""
    module = syntax_tree.compile_tree(ast.Module([tree], []), "<kernel>")
    (code,) = [
        constant
        for constant in module.co_consts
        if isinstance(constant, types.CodeType) and constant.co_name == tree.name
    ]
    return {*code.co_varnames, *code.co_cellvars}


def _python_function(value: Any) -> types.FunctionType | None:
    """The function below decorators such as ``jit``, ``autotune`` and ``constexpr_function``."""
    for _ in range(16):
        if isinstance(value, types.FunctionType):
            return value
        if inspect.isclass(value) or not hasattr(value, "fn"):
            return None
        value = value.fn
    return None


def _is_of_the_language(value: Any) -> bool:
    """Functions of this package change only with it, and its build is part of every stored key."""
    module = getattr(_python_function(value), "__module__", None) or ""
    return module.split(".")[0] == "blockscope"


def _constant(value: Any) -> str:
    """A text for a value that is the same in every process."""
    if isinstance(value, types.ModuleType):
        return f"module {value.__name__}"
    if callable(value) and not isinstance(value, core.constexpr | core.dtype):
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}"
    return f"{type(value).__qualname__} {_text(value)}"


def _text(value: Any) -> str:
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))
