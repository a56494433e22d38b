"""Where this program is in the grid, and new blocks."""

from typing import Any

from blockscope._core import semantic as _semantic
from blockscope.language.core import (
    block_type,
    builtin,
    constexpr,
    dtype,
    shape_of,
    tensor,
    tensor_method,
    unwrap,
)


@builtin
def program_id(axis: Any) -> Any:
    """Index of this program along ``axis`` (0, 1 or 2) of the grid, int32."""
    return _semantic.program_id(axis)


@builtin
def num_programs(axis: Any) -> Any:
    """Number of programs along ``axis`` (0, 1 or 2) of the grid, int32."""
    return _semantic.num_programs(axis)


@builtin
def arange(start: Any, end: Any) -> Any:
    """The int32 numbers ``start``, ..., ``end - 1``.

    Both are constexpr; their count is a power of two.
    """
    return _semantic.arange(start, end)


def _scalar(dtype: Any) -> Any:
    """A dtype, or that of the elements of a block type."""
    of: Any = unwrap(dtype)
    return of.element_ty if isinstance(of, block_type) else of


@builtin
def full(shape: Any, value: Any, dtype: Any) -> Any:
    """A block of ``shape`` with every element ``value`` (a number or a scalar tensor)."""
    return _semantic.full(shape_of([shape], "tl.full"), value, _scalar(dtype), "tl.full")


@builtin
def zeros(shape: Any, dtype: Any) -> Any:
    """A block of zeros."""
    return _semantic.full(shape_of([shape], "tl.zeros"), 0, _scalar(dtype), "tl.zeros")


@builtin
def zeros_like(input: Any) -> Any:
    """A block of zeros with the shape and dtype of ``input``."""
    return zeros([size.value for size in input.shape], input.dtype)


@tensor_method
def cast(input: Any, dtype: Any, fp_downcast_rounding: Any = None, bitcast: Any = False) -> Any:
    """Convert the elements to ``dtype``; with ``bitcast`` keep the bits (widths must be equal).

    ``fp_downcast_rounding`` is "rtne" (the default) or "rtz", for a narrower float only. Floats go
    to integers toward zero, saturating at 32 and 64 bits, NaN giving 0.
    """
    if isinstance(input, constexpr) and not isinstance(input.value, bool | int | float):
        input = input.value
    return _semantic.cast(
        input, _scalar(dtype), unwrap(fp_downcast_rounding), bool(unwrap(bitcast))
    )


@builtin
def _to(self: Any, dtype: Any, fp_downcast_rounding: Any = None, bitcast: Any = False) -> Any:
    """Same as ``tl.cast``."""
    return _semantic.cast(self, _scalar(dtype), unwrap(fp_downcast_rounding), bool(unwrap(bitcast)))


tensor.to = _to
__all__ = ["arange", "cast", "full", "num_programs", "program_id", "zeros", "zeros_like"]
del dtype
