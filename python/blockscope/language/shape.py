"""Shapes: broadcast, reshape, transpose, join, split, gather."""

from collections.abc import Iterable
from typing import Any

from blockscope._core import semantic as _semantic
from blockscope.language import context
from blockscope.language.core import builtin, shape_of, tensor_method, unwrap
from blockscope.language.creation import arange


def _sizes(x: Any) -> list[int]:
    return [size.value for size in x.shape]


@builtin
def broadcast(input: Any, other: Any) -> Any:
    """Bring two blocks to one shape; returns both."""
    return _semantic.broadcast(input, other)


@tensor_method
def broadcast_to(input: Any, *shape: Any) -> Any:
    """Repeat dimensions of size 1 (or a scalar) to ``shape``."""
    return _semantic.broadcast_to(input, shape_of(shape, "tl.broadcast_to"))


@tensor_method
def expand_dims(input: Any, axis: Any) -> Any:
    """Insert dimensions of size 1 at ``axis``, an int or several, counted in the result."""
    axis = unwrap(axis)
    if not isinstance(axis, Iterable):
        return _semantic.expand_dims(input, axis)
    axes = [int(unwrap(a)) for a in axis]
    rank = len(input.shape) + len(axes)
    for a in axes:
        if not -rank <= a < rank:
            raise ValueError(f"tl.expand_dims: invalid axis {a}. Expected {-rank} <= axis < {rank}")
    positions = sorted(a % rank for a in axes)
    if len(set(positions)) != len(positions):
        raise ValueError(
            f"tl.expand_dims: duplicate axes, normalized axes = {positions}; axis is {axes}"
        )
    for position in positions:
        input = _semantic.expand_dims(input, position)
    return input


@builtin
def unsqueeze(x: Any, dim: Any) -> Any:
    """Same as ``expand_dims``."""
    return expand_dims(x, dim)


@builtin
def squeeze(x: Any, dim: Any) -> Any:
    """Remove dimension ``dim``, which has size 1."""
    sizes, dim = _sizes(x), int(unwrap(dim))
    if not -len(sizes) <= dim < len(sizes) or sizes[dim] != 1:
        raise ValueError(f"tl.squeeze: dimension {dim} of shape {sizes} does not have size 1")
    del sizes[dim]
    return _semantic.reshape(x, sizes, False)


@tensor_method
def reshape(input: Any, *shape: Any, can_reorder: Any = False) -> Any:
    """The same elements in row-major order under another shape; ``()`` gives a scalar."""
    return _semantic.reshape(input, shape_of(shape, "tl.reshape"), bool(unwrap(can_reorder)))


@tensor_method
def view(input: Any, *shape: Any) -> Any:
    """Deprecated: ``reshape`` that may reorder. Here it keeps the order."""
    context.warn("tl.view is deprecated, use tl.reshape", DeprecationWarning)
    return _semantic.reshape(input, shape_of(shape, "tl.view"), True)


@tensor_method
def ravel(x: Any, can_reorder: Any = False) -> Any:
    """All elements in one dimension."""
    return _semantic.reshape(x, [x.numel.value], bool(unwrap(can_reorder)))


@tensor_method
def item(x: Any) -> Any:
    """The only element of a block, as a scalar."""
    return _semantic.reshape(x, [], False)


@tensor_method
def permute(input: Any, *dims: Any) -> Any:
    """Reorder dimensions: result dimension i is dimension ``dims[i]``."""
    return _semantic.permute(input, shape_of(dims, "tl.permute"))


@tensor_method
def trans(input: Any, *dims: Any) -> Any:
    """Swap the last two dimensions, or reorder as ``permute`` when ``dims`` are given."""
    return permute(input, *dims) if dims else _semantic.trans(input)


@builtin
def join(a: Any, b: Any) -> Any:
    """Two blocks side by side in a new last dimension of size 2."""
    return _semantic.join(a, b)


@tensor_method
def split(a: Any) -> Any:
    """The two halves of a last dimension of size 2."""
    return _semantic.split(a)


@builtin
def cat(input: Any, other: Any, can_reorder: Any = False, dim: Any = 0) -> Any:
    """Two blocks one after the other along ``dim``."""
    return _semantic.cat(input, other, bool(unwrap(can_reorder)), dim)


@builtin
def interleave(a: Any, b: Any) -> Any:
    """Elements of ``a`` and ``b`` in turn along the last dimension."""
    both = _semantic.join(a, b)
    sizes = _sizes(both)
    if len(sizes) == 1:
        return both
    return _semantic.reshape(both, [*sizes[:-2], 2 * sizes[-2]], False)


def _index_along(sizes: list[int], axis: int, index: Any) -> Any:
    """Bring a 1-D index to ``sizes`` with its elements along ``axis``."""
    for position in range(len(sizes)):
        if position != axis:
            index = _semantic.expand_dims(index, position)
    return _semantic.broadcast_to(index, sizes)


def _axis(x: Any, dim: Any, op: str) -> int:
    rank, axis = len(x.shape), unwrap(dim)
    axis = rank - 1 if axis is None else int(axis)
    if not -rank <= axis < rank:
        raise ValueError(f"{op}: invalid axis {axis}. Expected {-rank} <= axis < {rank}")
    return axis % rank


@tensor_method
def flip(x: Any, dim: Any = None) -> Any:
    """Reverse the order along ``dim`` (default: the last)."""
    sizes, axis = _sizes(x), _axis(x, dim, "tl.flip")
    index = _index_along(sizes, axis, (sizes[axis] - 1) - arange(0, sizes[axis]))
    return _semantic.gather(x, index, axis)


@tensor_method
def gather(src: Any, index: Any, axis: Any) -> Any:
    """``result[.., i, ..] = src[.., index[.., i, ..], ..]`` along ``axis``."""
    return _semantic.gather(src, index, axis)


@builtin
def swizzle2d(i: Any, j: Any, size_i: Any, size_j: Any, size_g: Any) -> Any:
    """Turn row-major indices of a size_i x size_j matrix into column-major ones within groups of
    ``size_g`` rows; returns the new row and column."""
    ij = i * size_j + j
    size_gj = size_g * size_j
    group_id = ij // size_gj
    off_i = group_id * size_g
    rows = _semantic.minimum(size_i - off_i, size_g, False)
    ij = ij % size_gj
    return off_i + ij % rows, ij // rows


__all__ = [
    "broadcast",
    "broadcast_to",
    "cat",
    "expand_dims",
    "flip",
    "gather",
    "interleave",
    "join",
    "permute",
    "ravel",
    "reshape",
    "split",
    "squeeze",
    "swizzle2d",
    "trans",
    "unsqueeze",
    "view",
]
