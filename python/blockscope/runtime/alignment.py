"""What kernels may know of the numbers and addresses that they are given."""

from __future__ import annotations

from typing import Any

from blockscope.frontend.argument import Argument, leaves

ALIGNMENT = 16
"""Arguments that can be divided by this are known to be, when a kernel is compiled."""

IS_ONE = -1
"""In place of a divisor: the argument is 1. Of an annotated parameter, whose type stays what its
annotation says; without one, 1 is a constant (``arguments.py``)."""


def divisors(fn: Any, arguments: list[Argument]) -> list[int]:
    """For each run-time argument what the kernel may know it to be divisible by, 1 or 16, or
    ``IS_ONE``.

    Units: bytes for pointers.
    """
    unaligned = set(fn.do_not_specialize_on_alignment)
    result = []
    for param, argument in zip(fn.params, arguments, strict=True):
        skipped = param.do_not_specialize or param.num in unaligned or param.name in unaligned
        for leaf in leaves([argument]):
            result.append(1 if skipped or not _divides(leaf) else ALIGNMENT)
            if _is_one(param, leaf):
                result[-1] = IS_ONE
    return result


def _is_one(param: Any, argument: Argument) -> bool:
    is_number = argument.name == param.name and argument.buffer is None
    return (
        is_number
        and param.type is not None
        and not param.do_not_specialize
        and argument.type.is_int()
        and not argument.type.is_bool()
        and argument.value == 1
    )


def _divides(argument: Argument) -> bool:
    if argument.buffer is not None:
        is_mock = getattr(argument.value, "is_mock", False)
        return argument.value.data_ptr() % ALIGNMENT == 0 if is_mock else \
            argument.buffer.pointer % ALIGNMENT == 0  # fmt: skip
    value = argument.value
    is_int = isinstance(value, int) and argument.type.is_int() and not argument.type.is_bool()
    return is_int and value % ALIGNMENT == 0
