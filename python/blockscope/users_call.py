"""Functions and methods that users call: their errors show the users' frames only.

C++ calls them, which leaves no frame, and drops those of this package from the traceback
(``frontend/tracebacks.py``).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from blockscope import _core

F = TypeVar("F", bound=Callable[..., Any])


def for_user(fn: F) -> F:
    """``fn``, with the user's frames only in the traceback of what it raises."""
    return cast(F, functools.update_wrapper(functools.partial(_core.call_for_user, fn), fn))


class _Method:
    def __init__(self, fn: Callable[..., Any]) -> None:
        self.__wrapped__ = fn
        self.__doc__ = fn.__doc__
        self._of_class = for_user(fn)  # one object: callers ask whether a class has another one

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self._of_class
        return functools.partial(_core.call_for_user, self.__wrapped__, instance)


def method_for_user(fn: F) -> F:
    """``for_user`` of a method."""
    return cast(F, _Method(fn))
