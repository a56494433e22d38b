"""The part of the language that Triton writes in itself; the module exists for its import path."""

from typing import Any

from blockscope.language.core import builtin, constexpr, unwrap
from blockscope.language.creation import arange, zeros, zeros_like
from blockscope.language.elementwise import cdiv
from blockscope.language.math import sigmoid, softmax
from blockscope.language.reduce import (
    _elementwise_max,
    _elementwise_min,
    _extreme_index,
    _or_combine,
    _pick_sum_dtype,
    _prod_combine,
    _sum_combine,
    _xor_combine,
    argmax,
    argmin,
    max,
    min,
    reduce_or,
    sum,
    xor_sum,
)
from blockscope.language.scan import cumprod, cumsum
from blockscope.language.shape import (
    flip,
    interleave,
    ravel,
    reshape,
    squeeze,
    swizzle2d,
    unsqueeze,
)
from blockscope.language.sort import bitonic_merge, sort, topk

_argmax_combine_tie_break_left = builtin(_extreme_index(is_max=True))
_argmax_combine_tie_break_fast = _argmax_combine_tie_break_left
_argmin_combine_tie_break_left = builtin(_extreme_index(is_max=False))
_argmin_combine_tie_break_fast = _argmin_combine_tie_break_left


@builtin
def _argmax_combine(
    value1: Any, index1: Any, value2: Any, index2: Any, tie_break_left: Any
) -> tuple[Any, Any]:
    """The larger of two (value, index) pairs."""
    return _argmax_combine_tie_break_left(value1, index1, value2, index2)


@builtin
def _argmin_combine(
    value1: Any, index1: Any, value2: Any, index2: Any, tie_break_left: Any
) -> tuple[Any, Any]:
    """The smaller of two (value, index) pairs."""
    return _argmin_combine_tie_break_left(value1, index1, value2, index2)


@builtin
def _indicator(n_dims: Any, j: Any) -> Any:
    """0 and 1 along dimension ``j`` of ``n_dims`` dimensions, of size 1 elsewhere."""
    shape = [1] * int(unwrap(n_dims))
    shape[int(unwrap(j))] = 2
    return reshape(arange(0, 2), shape)


@builtin
def _log2(i: Any) -> Any:
    """The largest k with 2^k <= i, of a constant."""
    return constexpr(int(unwrap(i)).bit_length() - 1)


@builtin
def _is_power_of_two(i: Any) -> Any:
    """Whether a constant is a power of two."""
    return constexpr(int(unwrap(i)).bit_count() == 1)


__all__ = [
    "_argmax_combine",
    "_argmin_combine",
    "_elementwise_max",
    "_elementwise_min",
    "_indicator",
    "_or_combine",
    "_pick_sum_dtype",
    "_prod_combine",
    "_sum_combine",
    "_xor_combine",
    "argmax",
    "argmin",
    "bitonic_merge",
    "cdiv",
    "cumprod",
    "cumsum",
    "flip",
    "interleave",
    "max",
    "min",
    "ravel",
    "reduce_or",
    "sigmoid",
    "softmax",
    "sort",
    "squeeze",
    "sum",
    "swizzle2d",
    "topk",
    "unsqueeze",
    "xor_sum",
    "zeros",
    "zeros_like",
]
