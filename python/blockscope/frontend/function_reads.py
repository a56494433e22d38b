"""What a Python function reads from outside of itself, as far as its code says so.

A kernel keeps the result of a ``@constexpr_function``, so it is stale when what the function read
has changed: variables of its module, of the functions around it, attributes of modules and classes,
defaults of parameters, and all these of the functions that it uses. Functions of Python's library,
and of installed packages other than the function's own, are taken as constant.
"""

from __future__ import annotations

import dis
import functools
import sys
import types
from collections.abc import Iterator
from typing import Any

from blockscope.frontend import globals_rule
from blockscope.frontend.used_values import UsedValues

_FIRST = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF"}
_ATTRIBUTE = {"LOAD_ATTR", "LOAD_METHOD"}


def note(used: UsedValues, function: Any) -> None:
    """Note in ``used`` what ``function`` reads. To be called after it: it may fill a cache."""
    _Reader(used).follow(function, None)


class _Reader:
    def __init__(self, used: UsedValues) -> None:
        self.used = used
        self.seen: set[int] = set()

    def follow(self, value: Any, user: types.FunctionType | None) -> None:
        """Note what the functions in ``value`` read; ``user`` is the function that has it."""
        if isinstance(value, list | tuple | set | frozenset):
            for item in value:
                self.follow(item, user)
            return
        if isinstance(value, dict):
            self.follow(list(value.values()), user)
            return
        function = _python_function(value)
        if function is None or id(function) in self.seen or not _is_followed(function, user):
            return
        self.seen.add(id(function))
        for name in ("__defaults__", "__kwdefaults__"):
            if (defaults := getattr(function, name)) is not None:
                self.used.note(function, name, defaults, by_function=True)
                self.follow(defaults, function)
        for name, path in _names(function.__code__):
            self._read(function, name, path)

    def _read(self, function: types.FunctionType, name: str, path: list[str]) -> None:
        value, where = globals_rule.find(function, name)
        if where == "global":
            self.used.note(function.__globals__, name, value, by_function=True)
        elif where == "closure":
            self.used.note(globals_rule.cell_of(function, name), name, value, by_function=True)
        else:
            return
        for attribute in path:
            if not isinstance(value, types.ModuleType | type) or _is_constant(value):
                break
            owner, value = value, getattr(value, attribute, None)
            self.used.note_attribute(owner, attribute, value, by_function=True)
        self.follow(value, function)


def _names(code: types.CodeType) -> Iterator[tuple[str, list[str]]]:
    """Names that the code reads, with the attributes read of them, those of inner code too."""
    name, path = "", []
    for instruction in dis.get_instructions(code):
        if instruction.opname in _ATTRIBUTE and name:
            path.append(instruction.argval)
        elif instruction.opname != "EXTENDED_ARG":
            if name:
                yield name, path
            name, path = (instruction.argval if instruction.opname in _FIRST else ""), []
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _python_function(value: Any) -> types.FunctionType | None:
    """The function below decorators and bound arguments."""
    for _ in range(16):
        if isinstance(value, types.FunctionType):
            return value
        if isinstance(value, functools.partial):
            value = value.func
        elif isinstance(value, types.MethodType | staticmethod | classmethod):
            value = value.__func__
        elif isinstance(value, type):
            return None
        else:
            inner = vars(value) if hasattr(value, "__dict__") else {}
            value = inner.get("fn", inner.get("__wrapped__"))
    return None


def _is_followed(function: types.FunctionType, user: types.FunctionType | None) -> bool:
    package = _package(function)
    if package == "blockscope" or package in sys.stdlib_module_names - {"__main__"}:
        return False
    is_installed = function.__code__.co_filename.startswith(_installed())
    return user is None or not is_installed or package == _package(user)


@functools.cache
def _installed() -> tuple[str, ...]:
    """The folders of installed packages."""
    import sysconfig  # few kernels need it, and it makes the first launch slow

    return tuple({sysconfig.get_path(name) for name in ("purelib", "platlib")})


def _is_constant(owner: Any) -> bool:
    return _package(owner) in sys.stdlib_module_names - {"__main__"}


def _package(value: Any) -> str:
    module = value.__name__ if isinstance(value, types.ModuleType) else value.__module__
    return (module or "").partition(".")[0]
