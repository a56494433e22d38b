"""Types by their names in signatures of kernels: "*fp32", "i64", "tensordesc<fp16[64, 64]>"."""

from __future__ import annotations

import builtins
import re
from typing import Any

from blockscope.language import core
from blockscope.language.descriptor import tensor_descriptor_type
from blockscope.language.types import block_type, constexpr_type, dtype, pointer_type, tuple_type

_INTEGER = re.compile(r"([iu])(1|8|16|32|64)")
_DESCRIPTOR = re.compile(r"tensordesc<(\w+)\[([\d, ]+)\].*>")


def str_to_ty(name: Any, c: Any = None) -> Any:
    """The type that a part of a signature names; ``c`` is the value of a "constexpr".

    A tuple of names gives a tuple's type. Errors: ValueError for an unknown name.
    """
    if isinstance(name, builtins.tuple):
        return tuple_type(
            [str_to_ty(part, c) for part in name], getattr(type(name), "_fields", None)
        )
    if name.startswith("*"):
        element = name[1:].removeprefix("k")
        return pointer_type(str_to_ty(element, c), const=name.startswith("*k"))
    if name == "constexpr":
        return constexpr_type(c)
    if descriptor := _DESCRIPTOR.fullmatch(name):
        sizes = [int(size) for size in descriptor[2].split(",")]
        return tensor_descriptor_type(block_type(str_to_ty(descriptor[1]), sizes))
    if name == "B":
        return core.int1
    if integer := _INTEGER.fullmatch(name):
        return core.get_int_dtype(int(integer[2]), signed=integer[1] == "i")
    return dtype(name)


__all__ = ["str_to_ty"]
