"""Modules of Triton's that can be imported, and whose every use is one clear error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from blockscope.errors import NotYetSupported


def module_getattr(module: str, reason: str) -> Callable[[str], Any]:
    """A module's ``__getattr__``: each name is a function that raises NotYetSupported."""

    def getattr_(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module '{module}' has no attribute '{name}'")

        def missing(*args: Any, **kwargs: Any) -> Any:
            raise NotYetSupported(f"{module}.{name} is not supported: {reason}")

        missing.__name__ = name
        return missing

    return getattr_
