"""Tensor descriptors: blocks of a tensor in memory by offsets, as a thin layer over pointers."""

from __future__ import annotations

import math
from typing import Any

from blockscope._core import semantic as _semantic
from blockscope.language import core
from blockscope.language.block_pointer import _tensors, elements_at, padding_value, window
from blockscope.language.core import block_type, builtin, tensor, unwrap
from blockscope.language.creation import arange
from blockscope.language.elementwise import where
from blockscope.language.types import compound_type


class tensor_descriptor(core.tuple):
    """``tl.make_tensor_descriptor(...)``. Its items are the tensors base, shape and strides."""

    _block_shape: list[int]
    padding: str
    _rounds: bool  # what is loaded as fp32, to tf32

    @staticmethod
    def make(
        items: Any, block_shape: list[int], padding: str, rounds: bool = False
    ) -> tensor_descriptor:
        self: tensor_descriptor = tensor_descriptor.__new__(tensor_descriptor, items)
        self._block_shape, self.padding, self._rounds = block_shape, padding, rounds
        return self

    def _with(self, items: Any) -> tensor_descriptor:
        return tensor_descriptor.make(items, self._block_shape, self.padding, self._rounds)

    @property
    def _constants(self) -> Any:
        return ("descriptor", tuple(self._block_shape), self.padding, self._rounds)

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

    def _loaded(self, op: str, pointers: Any, mask: Any) -> Any:
        fill = padding_value(op, self.padding, self.base)
        block = _semantic.load(pointers, mask, fill, "", "", False, True)
        return _rounded_to_tf32(block) if self._rounds and self.dtype == core.float32 else block

    @builtin
    def load(self, offsets: Any) -> Any:
        """The block that starts at ``offsets``; what lies outside the tensor is padding."""
        op = "descriptor.load"
        return self._loaded(op, *self._window(op, offsets))

    @builtin
    def store(self, offsets: Any, value: Any) -> None:
        """Write a block at ``offsets``; what lies outside the tensor is dropped.

        Its shape may differ from the descriptor's block by sides of 1.

        Errors: ValueError when it has another number of elements.
        """
        pointers, mask = self._window("descriptor.store", offsets)
        _semantic.store(pointers, self._fitted("descriptor.store", value), mask, "", "", True)

    def _fitted(self, op: str, value: Any) -> Any:
        value = core.to_tensor(value)
        shape = [size.value for size in value.shape]
        if not value.type.is_block() or shape == self._block_shape:
            return value
        if math.prod(shape) != math.prod(self._block_shape):
            raise ValueError(
                f"{op}: the value has shape {shape}, expected the descriptor's "
                f"block {list(self._block_shape)}"
            )
        return _semantic.reshape(value, self._block_shape, False)

    def _reduce(self, kind: str, offsets: Any, value: Any) -> None:
        op, element = f"descriptor.atomic_{kind}", self.dtype
        if element.name not in _REDUCED[kind]:
            expected = ", ".join(_REDUCED[kind])
            raise TypeError(f"{op}: Unsupported dtype: {element}, expected one of {expected}")
        pointers, mask = self._window(op, offsets)
        emit = getattr(_semantic, f"atomic_{kind}")
        emit(pointers, self._fitted(op, value), mask, "relaxed", "gpu")

    @builtin
    def atomic_add(self, offsets: Any, value: Any) -> None:
        """Add ``value`` to the block at ``offsets``, element by element, each atomically.

        What lies outside the tensor is dropped. Nothing is returned, and nothing is ordered: other
        memory may change before or after ("relaxed"). The same holds for all atomics below.
        """
        self._reduce("add", offsets, value)

    @builtin
    def atomic_min(self, offsets: Any, value: Any) -> None:
        """Put the smaller of memory and ``value`` into memory."""
        self._reduce("min", offsets, value)

    @builtin
    def atomic_max(self, offsets: Any, value: Any) -> None:
        """Put the larger of memory and ``value`` into memory."""
        self._reduce("max", offsets, value)

    @builtin
    def atomic_and(self, offsets: Any, value: Any) -> None:
        """Put memory & ``value`` into memory."""
        self._reduce("and", offsets, value)

    @builtin
    def atomic_or(self, offsets: Any, value: Any) -> None:
        """Put memory | ``value`` into memory."""
        self._reduce("or", offsets, value)

    @builtin
    def atomic_xor(self, offsets: Any, value: Any) -> None:
        """Put memory ^ ``value`` into memory."""
        self._reduce("xor", offsets, value)

    def _rows(self, op: str, x_offsets: Any, y_offset: Any) -> tuple[Any, Any, list[int]]:
        """Return pointers, mask and shape of the rows ``x_offsets``, from column ``y_offset``."""
        block, columns = self._block_shape, self._block_shape[-1]
        if len(block) != 2:
            raise ValueError(f"{op}: descriptor must be 2D, but got {block}")
        if block[0] != 1:
            raise ValueError(f"{op}: descriptor block must have 1 row, but got {block}")
        rows = core.to_tensor(x_offsets)
        shape = [size.value for size in rows.shape]
        if len(shape) != 1:
            raise ValueError(f"{op}: x offsets must be 1D, but got {shape}")
        if not rows.dtype.is_int():
            raise TypeError(f"{op}: x offsets are {rows.dtype}, expected integers")
        text = op.replace(".", " ")  # as Triton's sentences begin
        if shape[0] < 8:
            raise ValueError(f"{text} must have at least 8 rows, but got {shape[0]}")
        least = 32 // self.dtype.primitive_bitwidth * 8
        if columns < least:
            raise ValueError(
                f"{text} of {self.dtype} must have at least {least} columns, but got {columns}"
            )
        (column,) = _tensors(op, "y_offset", y_offset, 1, core.int64)
        indices = (rows.to(core.int64), column + arange(0, columns).to(core.int64))
        shape.append(columns)
        pointers, mask = elements_at(self.base, shape, self.shape, self.strides, indices, {0, 1})
        return pointers, mask, shape

    @builtin
    def gather(self, x_offsets: Any, y_offset: Any) -> Any:
        """The rows ``x_offsets`` (at least 8 integers), each from column ``y_offset``.

        The descriptor has two dimensions and a block of one row. What lies outside the tensor is
        padding.
        """
        op = "descriptor.gather"
        pointers, mask, _ = self._rows(op, x_offsets, y_offset)
        return self._loaded(op, pointers, mask)

    @builtin
    def scatter(self, value: Any, x_offsets: Any, y_offset: Any) -> None:
        """Write the rows of ``value`` to the rows ``x_offsets``, each from column ``y_offset``.

        What lies outside the tensor is dropped. Of rows that are given twice, either may stay.
        """
        op = "descriptor.scatter"
        pointers, mask, shape = self._rows(op, x_offsets, y_offset)
        value = core.to_tensor(value)
        found = [size.value for size in value.shape]
        if found != shape:
            raise ValueError(f"{op}: the value has shape {found}, expected {shape}")
        _semantic.store(pointers, value, mask, "", "", True)


def _rounded_to_tf32(block: Any) -> Any:
    """fp32 with 10 bits after the point: to nearest, ties away from zero, infinity and NaN as they
    are (``roundToTf32`` of core/numeric/float_format.h)."""
    bits = block.to(core.uint32, bitcast=True)
    is_finite = (bits & 0x7F800000) != 0x7F800000
    return where(is_finite, (bits + 0x1000) & 0xFFFFE000, bits).to(core.float32, bitcast=True)


#: The element types of the reductions in memory that TMA has, those of Triton.
_WORDS = ("int32", "uint32", "int64", "uint64")
_HALVES = ("fp16", "bf16")
_REDUCED = {
    "add": ("int32", "uint32", "uint64", "fp32", *_HALVES),
    "min": (*_WORDS, *_HALVES),
    "max": (*_WORDS, *_HALVES),
    "and": _WORDS,
    "or": _WORDS,
    "xor": _WORDS,
}


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
    sizes, steps = list(unwrap(shape)), list(unwrap(strides))
    block = [int(unwrap(size)) for size in unwrap(block_shape)]
    rank = len(sizes)
    if not 1 <= rank <= 5:
        raise ValueError(f"{op}: Expected 1 <= ndim <= 5 but got {rank} dimensions")
    if len(steps) != rank:
        raise ValueError(f"{op}: Expected {rank} strides but got {len(steps)}")
    if len(block) != rank:
        raise ValueError(
            f"{op}: Expected block_shape to have {rank} dimensions but got {len(block)}"
        )
    element, padding = base.dtype.element_ty, unwrap(padding_option) or "zero"
    if padding not in ("zero", "nan"):
        raise ValueError(f"{op}: padding_option is '{padding}', expected 'zero' or 'nan'")
    if padding == "nan" and element.is_int():
        raise ValueError(
            f"{op}: Padding option `nan` is not supported for integer blocks, found {element}"
        )
    last = unwrap(steps[-1])
    if isinstance(last, int) and last != 1:
        raise ValueError(f"{op}: Tensor descriptor last dim must be 1 but got {last}")
    size = element.itemsize
    if block[-1] * size < 16:
        raise ValueError(
            f"{op}: Descriptor block shape must have at least 16 bytes in the last dimension, but "
            f"got {block[-1]} * {size} = {block[-1] * size} bytes"
        )
    items = [
        base,
        *_tensors(op, "shape", sizes, rank, core.int32),
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
