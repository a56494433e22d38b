"""Types by name, shapes, and paths into nested tuples, under the names of ``triton._utils``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from blockscope.language import core
from blockscope.language.core import TRITON_MAX_TENSOR_NUMEL
from blockscope.language.half_public import validate_block_shape
from blockscope.runtime.specialization import short_names

__all__ = [
    "BITWIDTH_DICT",
    "TRITON_MAX_TENSOR_NUMEL",
    "canonicalize_dtype",
    "canonicalize_ptr_dtype",
    "find_paths_if",
    "get_iterable_path",
    "get_primitive_bitwidth",
    "is_namedtuple",
    "is_power_of_two",
    "type_canonicalisation_dict",
    "validate_block_shape",
]

#: A place in nested tuples: an index for each level.
ObjPath = tuple[int, ...]

type_canonicalisation_dict = short_names()


def _bits(short: str) -> int:
    if short == "void":
        return 0
    return 8 if short.startswith("fp8") else int(short.lstrip("abcdefghijklmnopqrstuvwxyz"))


BITWIDTH_DICT = {name: _bits(short) for name, short in type_canonicalisation_dict.items()}


def canonicalize_dtype(dtype: Any) -> str:
    """``fp16`` for ``torch.float16``, ``tl.float16`` or their names. Errors: KeyError."""
    return type_canonicalisation_dict[str(dtype).split(".")[-1]]


def canonicalize_ptr_dtype(dtype: Any, is_const: bool) -> str:
    """``*fp16`` for a pointer to such elements, ``*kfp16`` for one that only reads."""
    return f"*{'k' if is_const else ''}{canonicalize_dtype(dtype)}"


def get_primitive_bitwidth(dtype: str) -> int:
    """The bits of an element. Errors: KeyError for what is no name of a type."""
    return BITWIDTH_DICT[dtype]


def is_power_of_two(x: int) -> bool:
    return (x & (x - 1)) == 0


def is_namedtuple(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def get_iterable_path(nested: Any, path: ObjPath) -> Any:
    """What is at a path."""
    return functools.reduce(lambda inner, index: inner[index], path, nested)


def find_paths_if(nested: Any, wanted: Callable[[ObjPath, Any], bool]) -> list[ObjPath]:
    """The paths, in order, of what is in nested tuples or lists and ``wanted(path, value)``."""
    found: list[ObjPath] = []

    def look(path: ObjPath, value: Any) -> None:
        if isinstance(value, (list, tuple, core.tuple, core.tuple_type)):
            parts: Sequence[Any] = value  # type: ignore[assignment]
            for index, part in enumerate(parts):
                look((*path, index), part)
        elif wanted(path, value):
            found.append(path)

    look((), nested)
    return found
