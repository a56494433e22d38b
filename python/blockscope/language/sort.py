"""Sorting and counting."""

from typing import Any

from blockscope._core import semantic as _semantic
from blockscope.language.core import builtin, tensor_method, unwrap
from blockscope.language.creation import arange
from blockscope.language.shape import _axis, _index_along, _sizes


@tensor_method
def sort(x: Any, dim: Any = None, descending: Any = 0) -> Any:
    """Sort along the last dimension. NaN comes last when ascending, first when descending."""
    return _semantic.sort(x, _axis(x, dim, "tl.sort"), bool(unwrap(descending)))


@builtin
def topk(x: Any, k: Any, dim: Any = None, descending: Any = True) -> Any:
    """The ``k`` largest along the last dimension in descending order, or the smallest ascending."""
    sizes, axis, count = _sizes(x), _axis(x, dim, "tl.topk"), int(unwrap(k))
    if not 0 < count <= sizes[axis]:
        raise ValueError(f"tl.topk: k is {count}, expected 1 to {sizes[axis]}")
    if count & (count - 1):
        raise ValueError(f"tl.topk: k is {count}, expected a power of two")
    ordered = _semantic.sort(x, axis, bool(unwrap(descending)))
    if count == sizes[axis]:
        return ordered
    kept = [*sizes[:axis], count]
    return _semantic.gather(ordered, _index_along(kept, axis, arange(0, count)), axis)


@builtin
def bitonic_merge(x: Any, dim: Any = None, descending: Any = 0) -> Any:
    """Sort a bitonic sequence along the last dimension."""
    return _semantic.sort(x, _axis(x, dim, "tl.bitonic_merge"), bool(unwrap(descending)))


@tensor_method
def histogram(input: Any, num_bins: Any, mask: Any = None) -> Any:
    """How often 0, ..., ``num_bins - 1`` are in a 1-D integer block, where ``mask`` is true."""
    return _semantic.histogram(input, num_bins, mask)


__all__ = ["bitonic_merge", "histogram", "sort", "topk"]
