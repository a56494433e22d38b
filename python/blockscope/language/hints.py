"""Promises to the compiler. They change no result; a checked run may hold them to account."""

from typing import Any

from blockscope._core import semantic as _semantic
from blockscope.language.core import builtin, tensor, unwrap


def _hint(kind: str, input: Any, values: Any) -> Any:
    if not isinstance(input, tensor):
        return input  # a constant needs no hint
    values = unwrap(values)
    return _semantic.hint(kind, input, values if isinstance(values, list | tuple) else [values])


@builtin
def multiple_of(input: Any, values: Any) -> Any:
    """Promise that the first element of every run along a dimension is a multiple of ``values``."""
    return _hint("multiple_of", input, values)


@builtin
def max_contiguous(input: Any, values: Any) -> Any:
    """Promise that runs of ``values`` elements count up by one."""
    return _hint("max_contiguous", input, values)


@builtin
def max_constancy(input: Any, values: Any) -> Any:
    """Promise that runs of ``values`` elements are equal."""
    return _hint("max_constancy", input, values)


@builtin
def assume(cond: Any) -> None:
    """Promise that ``cond`` is true."""
    if isinstance(cond, tensor):
        _semantic.assume(cond)


@builtin
def debug_barrier() -> None:
    """Wait until all threads of the program have come here."""
    _semantic.debug_barrier()


__all__ = ["assume", "debug_barrier", "max_constancy", "max_contiguous", "multiple_of"]
