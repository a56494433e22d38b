"""What a compiled kernel depends on: the key under which a function keeps it.

Keys are exact (python/src/launch_key.h): two are equal only if all that was put into them has the
same types and bits. The launcher in C++ makes its keys of the same words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blockscope import _core
from blockscope.frontend.argument import Argument

Key = tuple[Any, ...]


def of_constant(value: Any) -> Key:
    """Of a value that is compiled in."""
    return ("constexpr", _core.LaunchKey(value))  # as it is now: a list may change later


def of_tensor(dtype: str, is_const: bool) -> Key:
    return ("*", dtype, is_const)


def of_number(dtype: Any) -> Key:
    return (dtype,)


def of_tuple(kind: type, fields: Any, parts: Sequence[Argument]) -> Key:
    return ("tuple", kind, fields, *(part.key for part in parts))


def of_descriptor(
    block: Sequence[int], padding: str, rounds: bool, parts: Sequence[Argument]
) -> Key:
    return ("descriptor", tuple(block), padding, rounds, *(part.key for part in parts))


def of_launch(arguments: Sequence[Argument], *settings: Any) -> Any:
    """Of a kernel compiled for these arguments by a backend with these settings."""
    return _core.LaunchKey(*settings, *(argument.key for argument in arguments))
