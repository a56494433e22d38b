"""The arguments of a kernel, as what compiles or steps through it sees them."""

from __future__ import annotations

from typing import Any

from blockscope.frontend.kernel_function import KernelFunction
from blockscope.language import core


class Argument:
    """One kernel argument: constexpr (``type`` is None), or a run-time value of a type."""

    __slots__ = ("bits", "buffer", "key", "name", "parts", "type", "value")

    def __init__(
        self,
        name: str,
        value: Any,
        key: Any,
        type_: Any = None,
        bits: int = 0,
        buffer: Any = None,
        parts: list[Argument] | None = None,
    ) -> None:
        self.name = name
        self.value = value
        self.key = key  # what a compiled kernel depends on
        self.type = type_  # of the language
        self.bits = bits  # the value's bits, or the device address
        self.buffer = buffer  # the memory of a tensor
        self.parts = parts  # of a tuple or a descriptor


def leaves(arguments: list[Argument]) -> list[Argument]:
    """The run-time parts of all arguments, in the order in which the kernel takes them."""
    found: list[Argument] = []
    for argument in arguments:
        if argument.parts is not None:
            found.extend(leaves(argument.parts))
        elif argument.type is not None:
            found.append(argument)
    return found


def without_values(arguments: list[Argument]) -> list[Argument]:
    """The arguments as a kernel is compiled for them, without what they hold at run time."""
    return [
        Argument(
            a.name,
            a.value if a.type is None else None,
            a.key,
            a.type,
            parts=None if a.parts is None else without_values(a.parts),
        )
        for a in arguments
    ]


def in_kernel(argument: Argument, values: Any) -> Any:
    """The argument as the kernel sees it, run-time parts taken from the iterator ``values``."""
    if argument.parts is not None:
        parts = [in_kernel(part, values) for part in argument.parts]
        return core.tuple._like(argument.value, parts)
    if argument.type is not None:
        return next(values)
    if isinstance(argument.value, KernelFunction):
        return argument.value
    return core.constexpr(argument.value)
