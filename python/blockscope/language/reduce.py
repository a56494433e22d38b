"""Reductions."""

from collections.abc import Callable
from typing import Any

from blockscope._core import semantic as _semantic
from blockscope.language import core
from blockscope.language.core import builtin, tensor, tensor_method, unwrap
from blockscope.language.creation import arange
from blockscope.language.elementwise import where
from blockscope.language.shape import _axis, _index_along, _sizes


@tensor_method
def reduce(input: Any, axis: Any, combine_fn: Any, keep_dims: Any = False) -> Any:
    """Combine the elements of a block (or of a tuple of blocks) along ``axis``; None means all.

    ``combine_fn`` is a @jit function of two elements (of two tuples' elements, one tuple after the
    other) that returns their combination; it must be associative. Element i is combined with
    element i + n/2 first, then i + n/4, and so on.
    """
    name = getattr(unwrap(combine_fn), "_combine_name", None)
    keep = bool(unwrap(keep_dims))
    if isinstance(input, tensor):
        if name:
            return _semantic.reduce_named(name, "tl.reduce", input, axis, keep)
        return _semantic.reduce([input], axis, keep, unwrap(combine_fn))[0]
    return core.tuple(_semantic.reduce(list(input), axis, keep, unwrap(combine_fn)))


def _combine(name: str, emit: Callable[[Any, Any], Any]) -> Any:
    def combine(a: Any, b: Any) -> Any:
        return emit(a, b)

    combine._combine_name = name  # type: ignore[attr-defined]
    return builtin(combine)


_sum_combine = _combine("add", _semantic.add)
_prod_combine = _combine("mul", _semantic.mul)
_elementwise_max = _combine("max", lambda a, b: _semantic.maximum(a, b, False))
_elementwise_min = _combine("min", lambda a, b: _semantic.minimum(a, b, False))
_xor_combine = _combine("xor", lambda a, b: a ^ b)
_or_combine = _combine("or", lambda a, b: a | b)


def _reduce_named(combine: str, op: str, input: Any, axis: Any, keep_dims: Any) -> Any:
    return _semantic.reduce_named(combine, op, input, axis, bool(unwrap(keep_dims)))


def _pick_sum_dtype(in_dtype: Any, dtype: Any) -> Any:
    """What a sum is computed in: integers of less than 32 bits widen."""
    if unwrap(dtype) is not None:
        return unwrap(dtype)
    if in_dtype.primitive_bitwidth >= 32 or not in_dtype.is_int():
        return None
    return core.int32 if in_dtype.is_int_signed() else core.uint32


@tensor_method
def sum(input: Any, axis: Any = None, keep_dims: Any = False, dtype: Any = None) -> Any:
    """The sum along ``axis`` (None: of all), computed in ``dtype``.

    Without ``dtype`` integers of less than 32 bits are summed in int32 or uint32.
    """
    out_dtype = _pick_sum_dtype(input.dtype, dtype)
    if out_dtype is not None:
        input = input.to(out_dtype)
    return _reduce_named("add", "tl.sum", input, axis, keep_dims)


def _promote_bfloat16_to_float32(x: Any) -> Any:
    return x.to(core.float32) if x.dtype == core.bfloat16 else x


def _widen(x: Any) -> Any:
    if x.dtype.primitive_bitwidth < 32:
        if x.dtype.is_floating():
            return x.to(core.float32)
        return x.to(core.int32)
    return x


def _extreme_index(is_max: bool) -> Any:
    """Combine (value, index) pairs; a NaN loses against a number, the lower index wins ties. So it
    does where ``tie_break_left`` is false, too: there any index will do, and only a rule lets the
    parts of a block be combined in any order."""

    def combine(value1: Any, index1: Any, value2: Any, index2: Any) -> Any:
        first = value1 > value2 if is_max else value1 < value2
        is_float = value1.dtype.is_floating()
        same = value1 == value2
        if is_float:
            same = same | ((value1 != value1) & (value2 != value2))
        first = first | (same & (index1 < index2))
        if is_float:
            first = first | ((value2 != value2) & (value1 == value1))
        return where(first, value1, value2), where(first, index1, index2)

    return combine


def _reduce_with_indices(input: Any, axis: Any, combine_fn: Any, keep_dims: Any = False) -> Any:
    axis = unwrap(axis)
    if axis is None:
        flat = _semantic.reshape(input, [input.numel.value], False)
        results = reduce((flat, arange(0, input.numel.value)), 0, combine_fn, False)
        if unwrap(keep_dims):
            ones = [1] * len(input.shape)
            results = [_semantic.reshape(r, ones, False) for r in results]
        return core.tuple(results)
    sizes, axis = _sizes(input), _axis(input, axis, "tl.reduce")
    index = _index_along(sizes, axis, arange(0, sizes[axis]))
    return reduce((input, index), axis, combine_fn, keep_dims)


def _check_axis_of_extreme(name: str, axis: Any) -> None:
    axis = unwrap(axis)
    if isinstance(axis, tensor | float):
        found = f"a tensor of {axis.type}" if isinstance(axis, tensor) else repr(axis)
        raise TypeError(
            f"tl.{name}: axis is {found}, expected a constant integer; of two values tl.{name}imum "
            f"is the {name}imum"
        )


def _make_extreme(is_max: bool) -> Any:
    name, what = ("max", "largest") if is_max else ("min", "smallest")

    def extreme(
        input: Any,
        axis: Any = None,
        return_indices: Any = False,
        return_indices_tie_break_left: Any = True,
        keep_dims: Any = False,
    ) -> Any:
        _check_axis_of_extreme(name, axis)
        if unwrap(return_indices):
            input = _promote_bfloat16_to_float32(input)
            return _reduce_with_indices(input, axis, _extreme_index(is_max), keep_dims)
        return _reduce_named(name, f"tl.{name}", _widen(input), axis, keep_dims)

    extreme.__doc__ = f"""The {what} along ``axis`` (None: of all), NaN ignored; with its index when
    asked for.

    Types of less than 32 bits give float32 or int32.
    """
    return _named(name, extreme)


def _make_index_of(extreme: Any, what: str) -> Any:
    def index_of(input: Any, axis: Any, tie_break_left: Any = True, keep_dims: Any = False) -> Any:
        return extreme(input, axis, True, tie_break_left, keep_dims)[1]

    index_of.__doc__ = f"""The int32 index of the {what} along ``axis``; of equal ones the first."""
    return _named(f"arg{extreme.__name__}", index_of)


def _named(name: str, function: Any) -> Any:
    function.__name__ = function.__qualname__ = name
    return tensor_method(function)


max = _make_extreme(is_max=True)
min = _make_extreme(is_max=False)
argmax = _make_index_of(max, "largest")
argmin = _make_index_of(min, "smallest")


@tensor_method
def xor_sum(input: Any, axis: Any = None, keep_dims: Any = False) -> Any:
    """The exclusive or along ``axis`` (None: of all). Integers only."""
    return _reduce_named("xor", "tl.xor_sum", input, axis, keep_dims)


@tensor_method
def reduce_or(input: Any, axis: Any, keep_dims: Any = False) -> Any:
    """The bitwise or along ``axis``. Integers only."""
    return _reduce_named("or", "tl.reduce_or", input, axis, keep_dims)


__all__ = ["argmax", "argmin", "max", "min", "reduce", "reduce_or", "sum", "xor_sum"]
