"""Loads and stores of a run of rows that end where the run does, under Triton's module path.

A descriptor is made of the whole tensor on the host; in the kernel each access is bounded by the
end of its rows: what is read behind them is 0, what is written there is dropped.
"""

from __future__ import annotations

from typing import Any

import blockscope.language as tl
from blockscope.runtime.jit import jit
from blockscope.runtime.tensor_descriptor import TensorDescriptor

_FIRST = tl.constexpr(0)


def create_ragged_descriptor(T: Any, block_shape: Any, ragged_dim: int = 0) -> TensorDescriptor:
    """The descriptor of a tensor of which slices along ``ragged_dim`` are loaded and stored.

    Errors: ValueError for another rank than the block's, for more than 3 dimensions, and when the
            last dimension is the ragged one.
    """
    rank = len(T.shape)
    if len(block_shape) != rank or rank > 3:
        raise ValueError(
            f"create_ragged_descriptor got a tensor of {rank} dimensions and a block of "
            f"{len(block_shape)}, expected the same, at most 3"
        )
    if not 0 <= ragged_dim % rank < rank - 1:
        raise ValueError(f"ragged_dim is {ragged_dim}, expected another one than the last")
    return TensorDescriptor(T, list(T.shape), [T.stride(i) for i in range(rank)], list(block_shape))


@jit
def _up_to(TMA: Any, end: Any, ragged_dim: tl.constexpr) -> Any:
    """The descriptor of the tensor up to a row."""
    shape = [*TMA.shape[:ragged_dim], end, *TMA.shape[ragged_dim + 1 :]]  # type: ignore[operator]
    return tl.make_tensor_descriptor(TMA.base, shape, TMA.strides, TMA.block_shape)


@jit
def _moved(coords: Any, slice_off: Any, ragged_dim: tl.constexpr) -> Any:
    return [*coords[:ragged_dim], coords[ragged_dim] + slice_off, *coords[ragged_dim + 1 :]]  # type: ignore[operator]


@jit
def load_ragged(
    TMA: Any, slice_off: Any, slice_size: Any, coords: Any, ragged_dim: tl.constexpr = _FIRST
) -> Any:
    """The block at ``coords`` of the ``slice_size`` rows that begin at ``slice_off``."""
    rows = _up_to(TMA, slice_off + slice_size, ragged_dim)
    return rows.load(_moved(coords, slice_off, ragged_dim))


@jit
def store_ragged(
    TMA: Any,
    slice_off: Any,
    slice_size: Any,
    coords: Any,
    data: Any,
    ragged_dim: tl.constexpr = _FIRST,
) -> None:
    """Write a block at ``coords`` of the ``slice_size`` rows that begin at ``slice_off``."""
    rows = _up_to(TMA, slice_off + slice_size, ragged_dim)
    rows.store(_moved(coords, slice_off, ragged_dim), data)


@jit
def atomic_add_ragged(
    TMA: Any,
    slice_off: Any,
    slice_size: Any,
    coords: Any,
    data: Any,
    ragged_dim: tl.constexpr = _FIRST,
) -> None:
    """Add a block at ``coords`` of the ``slice_size`` rows that begin at ``slice_off``."""
    rows = _up_to(TMA, slice_off + slice_size, ragged_dim)
    rows.atomic_add(_moved(coords, slice_off, ragged_dim), data)


__all__ = ["atomic_add_ragged", "create_ragged_descriptor", "load_ragged", "store_ragged"]
