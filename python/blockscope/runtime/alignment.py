"""What kernels may know their arguments to be divisible by."""

from __future__ import annotations

from typing import Any

from blockscope.frontend.argument import Argument, leaves

ALIGNMENT = 16
"""Arguments that can be divided by this are known to be, when a kernel is compiled."""


def divisors(fn: Any, arguments: list[Argument]) -> list[int]:
    """For each run-time argument what the kernel may know it to be divisible by: 1 or 16.

    Units: bytes for pointers.
    """
    unaligned = set(fn.do_not_specialize_on_alignment)
    result = []
    for param, argument in zip(fn.params, arguments, strict=True):
        skipped = param.do_not_specialize or param.num in unaligned or param.name in unaligned
        for leaf in leaves([argument]):
            result.append(1 if skipped or not _divides(leaf) else ALIGNMENT)
    return result


def _divides(argument: Argument) -> bool:
    if argument.buffer is not None:
        is_mock = getattr(argument.value, "is_mock", False)
        return argument.value.data_ptr() % ALIGNMENT == 0 if is_mock else \
            argument.buffer.pointer % ALIGNMENT == 0  # fmt: skip
    value = argument.value
    is_int = isinstance(value, int) and argument.type.is_int() and not argument.type.is_bool()
    return is_int and value % ALIGNMENT == 0
