"""Block pointers: a window that moves over a tensor in memory, as a thin layer over pointers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from blockscope._core import semantic as _semantic
from blockscope.language import core
from blockscope.language.core import block_type, builtin, pointer_type, tensor, unwrap
from blockscope.language.creation import arange
from blockscope.language.shape import _index_along


class block_pointer(core.tuple):
    """``tl.make_block_ptr(...)``. Its items are the tensors that a loop carries: base, shape,
    strides, offsets; the block's shape and order are constants."""

    block_shape: list[int]
    order: list[int]

    @staticmethod
    def make(items: Any, block_shape: list[int], order: list[int]) -> block_pointer:
        self: block_pointer = block_pointer.__new__(block_pointer, items)
        self.block_shape, self.order = block_shape, order
        return self

    def _with(self, items: Any) -> block_pointer:
        return block_pointer.make(items, self.block_shape, self.order)

    @property
    def _constants(self) -> Any:
        return ("block pointer", tuple(self.block_shape), tuple(self.order))

    def _part(self, number: int) -> list[Any]:
        rank = len(self.block_shape)
        return [self[1 + number * rank + i] for i in range(rank)]

    @property
    def base(self) -> Any:
        return self[0]

    @property
    def dtype(self) -> Any:
        return self.type  # a pointer to a block, as in Triton: its element_ty has an element_ty

    @property
    def type(self) -> Any:
        return pointer_type(block_type(self.base.dtype.element_ty, self.block_shape))

    @property
    def shape(self) -> Any:
        return core.tuple(core.constexpr(size) for size in self.block_shape)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"a block pointer has no attribute '{name}'")

    def __eq__(self, other: Any) -> Any:
        return self is other

    __hash__ = object.__hash__

    def _pointers_and_mask(self, op: str, boundary_check: Any) -> tuple[Any, Any]:
        rank = len(self.block_shape)
        checked = set()
        for dim in _dims(boundary_check):
            if not -rank <= dim < rank:
                raise ValueError(f"{op}: boundary_check has {dim}, the block has {rank} dimensions")
            checked.add(dim % rank)
        sizes, strides, offsets = self._part(0), self._part(1), self._part(2)
        return window(self.base, self.block_shape, sizes, strides, offsets, checked)

    def _load(
        self,
        mask: Any,
        other: Any,
        boundary_check: Any,
        padding_option: Any,
        cache_modifier: Any,
        eviction_policy: Any,
        volatile: Any,
    ) -> Any:
        _no_mask("tl.load", mask, other)
        padding = unwrap(padding_option) or ""
        if padding not in ("", "zero", "nan"):
            raise ValueError(
                f"tl.load: padding_option is '{padding}', expected '', 'zero' or 'nan'"
            )
        pointers, mask = self._pointers_and_mask("tl.load", boundary_check)
        fill = (
            padding_value("tl.load", padding, self.base) if mask is not None and padding else None
        )
        return _semantic.load(
            pointers, mask, fill, cache_modifier, eviction_policy, volatile, False
        )

    def _store(
        self, value: Any, mask: Any, boundary_check: Any, cache_modifier: Any, eviction_policy: Any
    ) -> None:
        _no_mask("tl.store", mask, None)
        pointers, mask = self._pointers_and_mask("tl.store", boundary_check)
        _semantic.store(pointers, value, mask, cache_modifier, eviction_policy, False)

    def advance(self, offsets: Any) -> Any:
        return advance(self, offsets)

    def load(self, **options: Any) -> Any:
        from blockscope.language.memory import load

        return load(self, **options)

    def store(self, value: Any, **options: Any) -> None:
        from blockscope.language.memory import store

        store(self, value, **options)


def _dims(boundary_check: Any) -> list[int]:
    dims = unwrap(boundary_check)
    if dims is None or dims == "":
        return []
    return [int(unwrap(dim)) for dim in dims] if hasattr(dims, "__iter__") else [int(dims)]


def _no_mask(op: str, mask: Any, other: Any) -> None:
    if unwrap(mask) is not None or unwrap(other) is not None:
        raise ValueError(
            f"{op}: a block pointer takes boundary_check and padding_option, not mask and other"
        )


def window(
    base: Any, block_shape: list[int], sizes: Any, strides: Any, offsets: Any, checked: set[int]
) -> tuple[Any, Any]:
    """Return the pointers of a block of a tensor in memory, and the mask of those inside ``sizes``
    along the ``checked`` dimensions (None when there is none)."""
    indices = (
        offsets[dim].to(core.int64) + arange(0, length).to(core.int64)
        for dim, length in enumerate(block_shape)
    )
    return elements_at(base, block_shape, sizes, strides, indices, checked)


def elements_at(
    base: Any,
    block_shape: list[int],
    sizes: Any,
    strides: Any,
    indices: Iterable[Any],
    checked: set[int],
) -> tuple[Any, Any]:
    """Return what ``window`` does, of all combinations of ``indices``: int64, a list for each
    dimension of the tensor."""
    pointers, mask = base, None
    rank = len(block_shape)
    for dim, index in enumerate(indices):
        along = index * strides[dim]
        for position in range(rank):
            if position != dim:
                along = _semantic.expand_dims(along, position)
        pointers = pointers + along
        if dim in checked:
            inside = (index >= 0) & (index < sizes[dim])
            inside = _index_along(block_shape, dim, inside)
            mask = inside if mask is None else mask & inside
    return pointers, mask


def padding_value(op: str, padding: str, base: Any) -> Any:
    element = base.dtype.element_ty
    if padding == "nan":
        if not element.is_floating():
            raise ValueError(f"{op}: padding 'nan' needs floats, the tensor has {element}")
        return float("nan")
    return 0.0 if element.is_floating() else 0


def _tensors(op: str, name: str, values: Any, rank: int | None, dtype: Any) -> list[Any]:
    items = unwrap(values)
    items = list(items) if hasattr(items, "__iter__") else [items]
    if rank is not None and len(items) != rank:
        raise ValueError(f"{op}: {name} has {len(items)} entries, expected {rank}")
    tensors = []
    for item in items:
        value = core.to_tensor(item)
        if not value.dtype.is_int() or value.type.is_block():
            raise TypeError(f"{op}: {name} has {value.type}, expected integer scalars")
        tensors.append(value.to(dtype))
    return tensors


@builtin
def make_block_ptr(
    base: Any, shape: Any, strides: Any, offsets: Any, block_shape: Any, order: Any
) -> Any:
    """A pointer to the block at ``offsets`` of a tensor in memory with ``shape`` and ``strides``.

    ``order`` says which dimension is contiguous; it changes no result.
    """
    op = "tl.make_block_ptr"
    if not isinstance(base, tensor) or not base.dtype.is_ptr() or base.type.is_block():
        raise TypeError(f"{op}: base must be a scalar pointer, found {getattr(base, 'type', base)}")
    block = [int(unwrap(size)) for size in unwrap(block_shape)]
    rank = len(block)
    ordered = [int(unwrap(dim)) for dim in unwrap(order)]
    if sorted(ordered) != list(range(rank)):
        raise ValueError(f"{op}: order {ordered} is not a permutation of the {rank} dimensions")
    items = [
        base,
        *_tensors(op, "shape", shape, rank, core.int64),
        *_tensors(op, "strides", strides, rank, core.int64),
        *_tensors(op, "offsets", offsets, rank, core.int32),
    ]
    return block_pointer.make(items, block, ordered)


@builtin
def advance(base: Any, offsets: Any) -> Any:
    """The block pointer moved by ``offsets``; ``base`` stays as it is."""
    if not isinstance(base, block_pointer):
        raise TypeError(
            f"tl.advance: base must be a block pointer, found {getattr(base, 'type', base)}"
        )
    rank = len(base.block_shape)
    steps = _tensors("tl.advance", "offsets", offsets, rank, core.int32)
    moved = [old + step for old, step in zip(base._part(2), steps, strict=True)]
    return base._with([*base[: 1 + 2 * rank], *moved])


advance._must_use_result = "it does not change its argument"  # type: ignore[attr-defined]
tensor.advance = advance
__all__ = ["advance", "make_block_ptr"]
