"""Names of ``triton.language.core`` that are not documented, and that public files use."""

from __future__ import annotations

import abc
from typing import Any

from blockscope.language import core
from blockscope.language.aggregate import aggregate as _aggregate
from blockscope.language.aggregate import aggregate_value
from blockscope.language.core import (
    builtin,
    constexpr,
    dtype,
    tensor,
    tensor_method,
    tuple,
    unwrap,
)
from blockscope.language.descriptor import tensor_descriptor as tensor_descriptor_base
from blockscope.language.descriptor import tensor_descriptor_type as tensor_descriptor_base_type

_constexpr_to_value = unwrap
_tensor_member_fn = tensor_method


class base_value(abc.ABC):  # noqa: B024
    """What every value of a kernel is an instance of."""


class base_type(abc.ABC):  # noqa: B024
    """What every type of a value is an instance of."""


for _kind in (tensor, constexpr, tuple, aggregate_value):
    base_value.register(_kind)
base_type.register(dtype)


def _to_tensor(x: Any, *_: Any) -> Any:
    return core.to_tensor(x)


@builtin
def _promote_bfloat16_to_float32(t: Any) -> Any:
    """Bfloat16 as float32, all other types as they are."""
    return t.to(core.float32) if t.dtype.is_bf16() else t


def _unwrap_shape(shape: Any) -> list[Any]:
    return [unwrap(size) for size in unwrap(shape)]


def _wrap_axis(axis: Any, ndim: int) -> int:
    """The number of a dimension, counted from the front."""
    axis = int(unwrap(axis))
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis is {axis}, expected -{ndim} to {ndim - 1}")
    return axis % ndim


def validate_block_shape(shape: Any) -> int:
    """The elements of a block of this shape.

    Errors: TypeError or ValueError for sizes that a block cannot have.
    """
    count = 1
    for i, size in enumerate(_unwrap_shape(shape)):
        if not isinstance(size, int):
            raise TypeError(f"Shape element {i} must have type `constexpr[int]`, got {size!r}")
        if size < 1 or size & (size - 1):
            raise ValueError(f"Shape element {i} must be a power of 2, got {size}")
        count *= size
    if count > core.TRITON_MAX_TENSOR_NUMEL:
        raise ValueError(
            f"numel ({count}) exceeds triton maximum tensor numel ({core.TRITON_MAX_TENSOR_NUMEL})"
        )
    return count


__all__ = [
    "_aggregate",
    "_constexpr_to_value",
    "_promote_bfloat16_to_float32",
    "_tensor_member_fn",
    "_to_tensor",
    "_unwrap_shape",
    "_wrap_axis",
    "base_type",
    "base_value",
    "tensor_descriptor_base",
    "tensor_descriptor_base_type",
    "validate_block_shape",
]
