"""Python functions that kernels call while they are compiled."""

from __future__ import annotations

import collections
import functools
import types
from collections.abc import Callable
from typing import Any

from blockscope.frontend.source import FunctionSource
from blockscope.language import context, core


class ConstexprFunction:
    """A Python function run while compiling: constexpr arguments in, constexpr out."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn
        functools.update_wrapper(self, fn)

    @property
    def src(self) -> str:
        """The function's text from its ``def`` on. Errors: OSError when it is not in a file."""
        text = FunctionSource(self.fn).text
        return text[text.index("def ") :]

    @property
    def cache_key(self) -> str:
        """A hash of this function's source and of all that it calls and reads."""
        from blockscope.frontend.dependencies import source_key

        return source_key(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        in_kernel = any(isinstance(a, core.constexpr) for a in (*args, *kwargs.values()))
        for value in (*args, *kwargs.values()):
            if isinstance(value, core.tensor):
                raise TypeError(
                    f"constexpr function '{self.fn.__name__}' got a value known only at run time"
                )
        plain = [_plain(a) for a in args]
        result = self.fn(*plain, **{k: _plain(v) for k, v in kwargs.items()})
        if not in_kernel and not _compiles():
            return result
        return result if isinstance(result, core.constexpr) else core.constexpr(result)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Bind as a method, of any class."""
        return self if instance is None else types.MethodType(self, instance)


def _compiles() -> bool:
    kernel = context.current()
    return kernel is not None and kernel.runner is None


def _plain(value: Any) -> Any:
    if isinstance(value, core.constexpr):
        return _plain(value.value)
    if isinstance(value, core.tuple):
        items = [_plain(v) for v in value]
        if value._fields is None:
            return tuple(items)
        return collections.namedtuple("named_tuple", value._fields)(*items)
    return value


def constexpr_function(fn: Callable[..., Any]) -> ConstexprFunction:
    """Decorate a Python function that kernels call on constexpr values."""
    return ConstexprFunction(fn)
