"""Inclusive scans."""

from typing import Any

from blockscope._core import semantic as _semantic
from blockscope.language import core
from blockscope.language.core import tensor, tensor_method, unwrap
from blockscope.language.reduce import _pick_sum_dtype, _promote_bfloat16_to_float32


@tensor_method
def associative_scan(input: Any, axis: Any, combine_fn: Any, reverse: Any = False) -> Any:
    """Inclusive scan of a block (or of a tuple of blocks) along ``axis`` with a @jit function."""
    name = getattr(unwrap(combine_fn), "_combine_name", None)
    backwards = bool(unwrap(reverse))
    if isinstance(input, tensor):
        if name:
            return _semantic.scan_named(name, "tl.associative_scan", input, axis, backwards)
        return _semantic.scan([input], axis, backwards, unwrap(combine_fn))[0]
    return core.tuple(_semantic.scan(list(input), axis, backwards, unwrap(combine_fn)))


@tensor_method
def cumsum(input: Any, axis: Any = 0, reverse: Any = False, dtype: Any = None) -> Any:
    """The running sum along ``axis``, computed in ``dtype``.

    Without ``dtype`` bfloat16 is summed in float32, integers of less than 32 bits in int32 or
    uint32.
    """
    return _cumulate("add", "tl.cumsum", input, axis, reverse, dtype)


@tensor_method
def cumprod(input: Any, axis: Any = 0, reverse: Any = False, dtype: Any = None) -> Any:
    """The running product along ``axis``, computed in ``dtype``; without it as for ``cumsum``."""
    return _cumulate("mul", "tl.cumprod", input, axis, reverse, dtype)


def _cumulate(combine: str, op: str, input: Any, axis: Any, reverse: Any, dtype: Any) -> Any:
    input = _promote_bfloat16_to_float32(input)
    out_dtype = _pick_sum_dtype(input.dtype, dtype)
    if out_dtype is not None:
        input = input.to(out_dtype)
    return _semantic.scan_named(combine, op, input, axis, bool(unwrap(reverse)))


__all__ = ["associative_scan", "cumprod", "cumsum"]
