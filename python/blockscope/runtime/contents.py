"""What the tensors of a launch hold, and its descriptors, kept so that it can be put back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from blockscope.runtime.memory.buffer import tensors_in
from blockscope.runtime.tensors import TensorWrapper


class CannotPutBack(Exception):
    """Says why what a launch changes cannot be put back, and how to check it anyhow."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.hint = hint or "leave one at a time in 'configs' to check the others"


class Contents:
    """What the tensors among some arguments hold, in all of their storages: a kernel may write
    outside the views that it gets. And the blocks of descriptors, which hooks set.

    Errors: CannotPutBack for tensors that cannot be copied.
    """

    def __init__(self, arguments: Iterable[Any]) -> None:
        self._kept: dict[int, tuple[Any, Any]] = {}
        arguments = list(arguments)
        self._blocks = [
            (each, list(each.block_shape)) for each in arguments if hasattr(each, "block_shape")
        ]
        for tensor in tensors_in(arguments):
            try:
                memory, address = _memory_of(tensor)
                if address not in self._kept:
                    copy = memory.clone() if hasattr(memory, "clone") else memory.copy()
                    self._kept[address] = memory, copy
            except (AttributeError, NotImplementedError, RuntimeError, MemoryError) as error:
                kind = type(tensor)
                raise CannotPutBack(
                    f"an argument, a {kind.__module__}.{kind.__qualname__}, cannot be copied"
                ) from error

    def put_back(self) -> None:
        for descriptor, block in self._blocks:
            descriptor.block_shape = list(block)
        for memory, copy in self._kept.values():
            if hasattr(memory, "copy_"):
                memory.copy_(copy)
            elif memory.flags.writeable:
                memory[...] = copy


def _memory_of(tensor: Any) -> tuple[Any, int]:
    """The whole storage of a tensor: of torch's, or the array that others are views of."""
    if isinstance(tensor, TensorWrapper):
        return _memory_of(tensor.base)
    if hasattr(tensor, "untyped_storage"):
        storage = tensor.untyped_storage()
        return storage, storage.data_ptr()
    while isinstance(tensor.base, type(tensor)):
        tensor = tensor.base
    return tensor, tensor.ctypes.data
