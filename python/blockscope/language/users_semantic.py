"""``_semantic`` as builtins of users get it: Triton's methods, each the function of the language.

A file of Triton's users may mark a function with ``@core.builtin`` or ``@core.extern`` and name a
parameter ``_semantic``. It hands that on to functions of the language, which ignore it, or calls
its methods. What builds Triton's own IR (``_semantic.builder``) is not there.
"""

from __future__ import annotations

import inspect
from typing import Any

from blockscope.signatures import signature_of

language: Any = None  # the package, once all of it is there


class UsersSemantic:
    """One method for each function of the language."""

    def to_tensor(self, x: Any, check_type: bool = True) -> Any:
        return language.to_tensor(x)

    def scalar_constant(self, value: Any, dtype: Any) -> Any:
        return language.full((), value, dtype)

    def broadcast_impl_shape(self, x: Any, shape: Any) -> Any:
        return language.broadcast_to(x, shape)

    def __getattr__(self, name: str) -> Any:
        function = None if name.startswith("_") else getattr(language, name, None)
        if function is None or inspect.isclass(function) or inspect.ismodule(function):
            raise AttributeError(
                f"'_semantic.{name}' is a part of Triton's compiler, which Blockscope does not "
                "have; use the functions of triton.language"
            )
        return function


USERS_SEMANTIC = UsersSemantic()


def takes_semantic(fn: Any) -> bool:
    try:
        return "_semantic" in signature_of(fn).parameters
    except (TypeError, ValueError):
        return False
