"""What a compiled kernel depends on: the key under which a function keeps it.

The C++ launcher has a finer key of its own for launches that it repeats (python/src/launch_key.h).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blockscope.frontend.argument import Argument

Key = tuple[Any, ...]


def of_constant(value: Any) -> Key:
    """Of a value that is compiled in."""
    try:
        hash(value)
    except TypeError:
        return ("constexpr", type(value).__name__, repr(value))
    return ("constexpr", type(value).__name__, value)


def of_tensor(dtype: str, is_const: bool) -> Key:
    return ("*", dtype, is_const)


def of_number(dtype: Any) -> Key:
    return (dtype,)


def of_tuple(kind: type, parts: Sequence[Argument]) -> Key:
    return ("tuple", kind, *(part.key for part in parts))


def of_descriptor(block: Sequence[int], padding: str, parts: Sequence[Argument]) -> Key:
    return ("descriptor", tuple(block), padding, *(part.key for part in parts))


def of_launch(arguments: Sequence[Argument], *settings: Any) -> Key:
    """Of a kernel compiled for these arguments by a backend with these settings."""
    return (*settings, *(argument.key for argument in arguments))
