"""The module path ``triton.language.semantic``, for files that import it.

Triton builds its IR there, one method of ``TritonSemantic`` for each op. Here the rule book does
that (core/semantic), so the class only serves annotations, and a function of this module is the one
of the language of the same name, without the builder that Triton's takes last.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from blockscope import language
from blockscope.errors import NotYetSupported
from blockscope.language.core import builtin

TensorTy = TypeVar("TensorTy")


class TritonSemantic(Generic[TensorTy]):
    """A name for annotations such as ``_semantic: TritonSemantic``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotYetSupported(
            "triton.language.semantic.TritonSemantic builds Triton's own IR, which Blockscope does "
            "not have; use the functions of triton.language"
        )


def _without_builder(fn: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        if args and args[-1] is None:  # the default of `_builder` in files written for Triton
            args = args[:-1]
        kwargs.pop("builder", None)
        return fn(*args, **kwargs)

    call.__name__ = call.__qualname__ = fn.__name__
    call.__doc__ = fn.__doc__
    return builtin(call)


def __getattr__(name: str) -> Any:
    function = None if name.startswith("_") else getattr(language, name, None)
    if not callable(function) or isinstance(function, type):
        raise AttributeError(
            f"module 'triton.language.semantic' has no '{name}' in Blockscope: it has "
            "TritonSemantic for annotations, and the functions of triton.language"
        )
    return _without_builder(function)
