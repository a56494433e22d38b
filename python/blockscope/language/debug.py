"""Printing and asserting, while the kernel is compiled and while it runs."""

import builtins
from typing import Any

from blockscope._core import semantic as _semantic
from blockscope.errors import CompileTimeAssertionFailure
from blockscope.language import context
from blockscope.language.core import builtin, tensor, unwrap


@builtin
def static_print(
    *values: Any, sep: Any = " ", end: Any = "\n", file: Any = None, flush: Any = False
) -> None:
    """Print constants, types and shapes while the kernel is compiled."""
    kernel = context.current()
    if kernel is not None and not kernel.prints:
        return
    plain = [unwrap(value) for value in values]
    builtins.print(*plain, sep=unwrap(sep), end=unwrap(end), file=file, flush=bool(unwrap(flush)))


@builtin
def static_assert(cond: Any, msg: Any = "") -> None:
    """Stop compiling when the constant ``cond`` is false."""
    cond = unwrap(cond)
    if isinstance(cond, tensor):
        raise TypeError(
            "tl.static_assert: cond is known only at run time, expected a constant; use "
            "tl.device_assert"
        )
    if not cond:
        raise CompileTimeAssertionFailure(str(unwrap(msg)) or "tl.static_assert failed")


@builtin
def device_assert(cond: Any, msg: Any = "", mask: Any = None) -> None:
    """Report ``msg`` when an element of ``cond`` is false where ``mask`` is true.

    Active under TRITON_DEBUG=1, ``debug=True``, and in every checked run.
    """
    msg = unwrap(msg)
    if not isinstance(msg, str):
        raise TypeError(f"tl.device_assert: msg is {msg!r}, expected a string")
    _semantic.device_assert(cond, msg, mask)


@builtin
def device_print(prefix: Any = "", *args: Any, hex: Any = False) -> None:
    """Print the elements of ``args`` from the running kernel, one line each, after ``prefix``."""
    prefix = unwrap(prefix)
    if not isinstance(prefix, str):
        args, prefix = (prefix, *args), ""
    if not (prefix.isascii() and (prefix.isprintable() or prefix == "")):
        raise ValueError(
            f"tl.device_print: prefix {prefix!r} has characters that are not printable ASCII"
        )
    values = []
    for value in args:
        plain = unwrap(value)
        if isinstance(plain, str):
            prefix += " " + plain
        else:
            values.append(value)
    if values:
        prefix = prefix.rstrip()
        prefix = prefix.removesuffix(":") + ": "
        if len(prefix) > 2 and not prefix.startswith(" "):
            prefix = " " + prefix
    _semantic.device_print(prefix, values, bool(unwrap(hex)))


__all__ = ["device_assert", "device_print", "static_assert", "static_print"]
