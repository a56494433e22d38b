"""Tensor descriptors: blocks of a tensor in memory by offsets, as a thin layer over pointers."""

from __future__ import annotations

import math
from typing import Any

from blockscope._core import semantic as _semantic
from blockscope.errors import NotYetSupported
from blockscope.language import core
from blockscope.language.block_pointer import _tensors, padding_value, window
from blockscope.language.core import block_type, builtin, tensor, unwrap
from blockscope.language.types import compound_type


class tensor_descriptor(core.tuple):
    """``tl.make_tensor_descriptor(...)``. Its items are the tensors base, shape and strides."""

    _block_shape: list[int]
    padding: str

    @staticmethod
    def make(items: Any, block_shape: list[int], padding: str) -> tensor_descriptor:
        self: tensor_descriptor = tensor_descriptor.__new__(tensor_descriptor, items)
        self._block_shape, self.padding = block_shape, padding
        return self

    def _with(self, items: Any) -> tensor_descriptor:
        return tensor_descriptor.make(items, self._block_shape, self.padding)

    @property
    def base(self) -> Any:
        return self[0]

    @property
    def dtype(self) -> Any:
        return self.base.dtype.element_ty

    @property
    def block_shape(self) -> Any:
        return [core.constexpr(size) for size in self._block_shape]

    @property
    def block_type(self) -> Any:
        return block_type(self.dtype, self._block_shape)

    @property
    def type(self) -> Any:
        return tensor_descriptor_type(self.block_type)

    @property
    def shape(self) -> Any:
        rank = len(self._block_shape)
        return core.tuple(self[1 + i] for i in range(rank))

    @property
    def strides(self) -> Any:
        rank = len(self._block_shape)
        return core.tuple(self[1 + rank + i] for i in range(rank))

    def __getattr__(self, name: str) -> Any:
        if name in _NOT_YET:
            raise NotYetSupported(f"descriptor.{name} is not supported yet")
        raise AttributeError(f"a tensor descriptor has no attribute '{name}'")

    def __eq__(self, other: Any) -> Any:
        return self is other

    __hash__ = object.__hash__

    def _window(self, op: str, offsets: Any) -> tuple[Any, Any]:
        rank = len(self._block_shape)
        starts = _tensors(op, "offsets", offsets, rank, core.int32)
        return window(
            self.base, self._block_shape, self.shape, self.strides, starts, set(range(rank))
        )

    @builtin
    def load(self, offsets: Any) -> Any:
        """The block that starts at ``offsets``; what lies outside the tensor is padding."""
        pointers, mask = self._window("descriptor.load", offsets)
        fill = padding_value("descriptor.load", self.padding, self.base)
        return _semantic.load(pointers, mask, fill, "", "", False)

    @builtin
    def store(self, offsets: Any, value: Any) -> None:
        """Write a block at ``offsets``; what lies outside the tensor is dropped.

        Its shape may differ from the descriptor's block by sides of 1.

        Errors: ValueError when it has another number of elements.
        """
        pointers, mask = self._window("descriptor.store", offsets)
        value = core.to_tensor(value)
        shape = [size.value for size in value.shape]
        if value.type.is_block() and shape != self._block_shape:
            if math.prod(shape) != math.prod(self._block_shape):
                raise ValueError(
                    f"descriptor.store: the value has shape {shape}, expected the descriptor's "
                    f"block {list(self._block_shape)}"
                )
            value = _semantic.reshape(value, self._block_shape, False)
        _semantic.store(pointers, value, mask, "", "")


_NOT_YET = (
    *(f"atomic_{kind}" for kind in ("add", "min", "max", "and", "or", "xor")),
    "gather",
    "scatter",
)


class tensor_descriptor_type(compound_type):
    """The type of a tensor descriptor."""

    def __init__(self, block: Any, shape_type: Any = None, strides_type: Any = None) -> None:
        self.block_type = block
        self.name = f"tensor_descriptor<{block}>"

    def _parts(self) -> Any:
        return self.block_type


@builtin
def make_tensor_descriptor(
    base: Any, shape: Any, strides: Any, block_shape: Any, padding_option: Any = "zero"
) -> Any:
    """Describe the tensor at ``base`` for loads and stores of blocks of ``block_shape``.

    1 to 5 dimensions; the last stride is 1. ``padding_option``: "zero" or "nan".
    """
    op = "tl.make_tensor_descriptor"
    if not isinstance(base, tensor) or not base.dtype.is_ptr() or base.type.is_block():
        raise TypeError(f"{op}: base must be a scalar pointer, found {getattr(base, 'type', base)}")
    block = [int(unwrap(size)) for size in unwrap(block_shape)]
    rank = len(block)
    if not 1 <= rank <= 5:
        raise ValueError(f"{op}: block_shape has {rank} dimensions, expected 1 to 5")
    padding = unwrap(padding_option) or "zero"
    if padding not in ("zero", "nan"):
        raise ValueError(f"{op}: padding_option is '{padding}', expected 'zero' or 'nan'")
    steps = list(unwrap(strides))
    last = unwrap(steps[-1]) if steps else None
    if isinstance(last, int) and last != 1:
        raise ValueError(f"{op}: the last stride is {last}, expected 1")
    size = base.dtype.element_ty.itemsize
    if block[-1] * size < 16:
        found = block[-1] * size
        raise ValueError(f"{op}: the last dimension of the block has {found} bytes, expected 16")
    items = [
        base,
        *_tensors(op, "shape", shape, rank, core.int32),
        *_tensors(op, "strides", steps, rank, core.int64),
    ]
    return tensor_descriptor.make(items, block, padding)


def _descriptor(op: str, value: Any) -> Any:
    if not isinstance(value, tensor_descriptor):
        raise TypeError(
            f"{op}: desc must be a tensor descriptor, found {getattr(value, 'type', value)}"
        )
    return value


@builtin
def load_tensor_descriptor(desc: Any, offsets: Any) -> Any:
    """Same as ``desc.load(offsets)``."""
    return _descriptor("tl.load_tensor_descriptor", desc).load(offsets)


@builtin
def store_tensor_descriptor(desc: Any, offsets: Any, value: Any) -> None:
    """Same as ``desc.store(offsets, value)``."""
    _descriptor("tl.store_tensor_descriptor", desc).store(offsets, value)


_experimental_make_tensor_descriptor = make_tensor_descriptor
__all__ = [
    "load_tensor_descriptor",
    "make_tensor_descriptor",
    "store_tensor_descriptor",
    "tensor_descriptor",
    "tensor_descriptor_type",
]
