"""The names of ``triton._C.libtriton`` that public files import.

``getenv`` and ``nvidia.cublas`` work. What only Triton's own compiler could be asked is an error
that names the public way.
"""

from __future__ import annotations

import os
from typing import Any

from blockscope.compat._C.libtriton import (
    amd,
    gluon_ir,
    interpreter,
    ir,
    linear_layout,
    llvm,
    nvidia,
    passes,
)
from blockscope.errors import NotYetSupported


def getenv(name: str, default: str | None = None) -> str | None:
    """The variable, ``default`` where it is not set."""
    return os.environ.get(name, default)


def getenv_bool(name: str, default: bool | None = None) -> bool | None:
    """Whether the variable is 1, true, on, yes or y; ``default`` where it is not set."""
    text = os.environ.get(name)
    return default if text is None else text.lower() in ("1", "true", "on", "yes", "y")


def get_cache_invalidating_env_vars() -> dict[str, str]:
    """Variables that are part of a kernel's key besides what it records itself: none here."""
    return {}


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'triton._C.libtriton' has no attribute '{name}'")
    raise NotYetSupported(
        f"triton._C.libtriton.{name} is a private part of Triton's compiler, which is not in "
        "Blockscope; use triton, triton.language, triton.runtime and triton.compiler"
    )


__all__ = [
    "amd",
    "get_cache_invalidating_env_vars",
    "getenv",
    "getenv_bool",
    "gluon_ir",
    "interpreter",
    "ir",
    "linear_layout",
    "llvm",
    "nvidia",
    "passes",
]
