"""The tensors of a launch on another device: copies of whole storages, so that views stay views."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from blockscope.runtime.memory.buffer import is_tensor
from blockscope.runtime.tensors import TensorWrapper


class CannotCopy(Exception):
    """Says which argument cannot be copied, and why."""


def tensors_of(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The torch tensors in an argument, each with the name to call it by.

    Errors: CannotCopy for tensors of other libraries.
    """
    import torch

    if isinstance(value, torch.Tensor):
        yield name, value
    elif isinstance(value, TensorWrapper) or _is_descriptor(value):
        yield from tensors_of(value.base, name)
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from tensors_of(item, f"{name}.{index}")
    elif not isinstance(value, bool | int | float | str) and is_tensor(value):
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        raise CannotCopy(f"argument '{name}' is a {kind}, expected a torch tensor")


def _is_descriptor(value: Any) -> bool:
    return hasattr(value, "block_shape") and hasattr(value, "base")


class Copies:
    """Copies of the storages of some tensors on one device, as they are now."""

    def __init__(self, tensors: Mapping[str, Any], device: str) -> None:
        import torch

        self.device = device
        self._storages: dict[tuple[str, int], Any] = {}
        for tensor in tensors.values():
            key = _key(tensor)
            if key not in self._storages:
                whole = _whole_storage(tensor)
                copy = torch.empty(whole.numel(), dtype=torch.uint8, device=device)
                self._storages[key] = copy.copy_(whole)

    def storage(self, tensor: Any) -> Any:
        """The copy of the tensor's whole storage, as bytes."""
        return self._storages[_key(tensor)]

    def tensor(self, tensor: Any) -> Any:
        """The view of the copy that ``tensor`` is of the original."""
        import torch

        with torch.no_grad():
            empty = torch.empty(0, dtype=tensor.dtype, device=self.device)
            return empty.set_(
                self.storage(tensor).untyped_storage(), tensor.storage_offset(),
                tensor.size(), tensor.stride(),
            )  # fmt: skip

    @contextmanager
    def own_addresses(
        self, tables: Mapping[str, Any], tensors: Mapping[str, Any]
    ) -> Iterator[None]:
        """Inside, the copies of ``tables`` hold addresses of the copies of ``tensors``."""
        moves = []  # begin and end of the original storage, and where the copy begins
        for tensor in tensors.values():
            storage = tensor.untyped_storage()
            begin = storage.data_ptr()
            moves.append((begin, begin + storage.nbytes(), self.storage(tensor).data_ptr()))
        back = [(new, new + end - begin, begin) for begin, end, new in moves]
        for table in tables.values():
            _move_addresses(self.tensor(table), moves)
        try:
            yield
        finally:
            for table in tables.values():
                _move_addresses(self.tensor(table), back)

    def argument(self, value: Any) -> Any:
        """An argument with the copies in place of its tensors."""
        import torch

        if isinstance(value, torch.Tensor):
            return self.tensor(value)
        if isinstance(value, TensorWrapper):
            return TensorWrapper(self.argument(value.base), value.dtype)
        if _is_descriptor(value):
            return dataclasses.replace(value, base=self.argument(value.base))
        if isinstance(value, tuple):
            items: Sequence[Any] = [self.argument(item) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        return value

    def differing_outside(
        self, other: Copies, tensors: Mapping[str, Any]
    ) -> Iterator[tuple[str, int]]:
        """Storages that differ where no tensor reaches: a tensor's name, and the first byte."""
        import torch

        covered = {key: torch.zeros_like(copy) for key, copy in self._storages.items()}
        for tensor in tensors.values():
            integer = {1: torch.int8, 2: torch.int16, 4: torch.int32}.get(tensor.element_size())
            torch.empty(0, dtype=integer or torch.int64, device=self.device).set_(
                covered[_key(tensor)].untyped_storage(), tensor.storage_offset(),
                tensor.size(), tensor.stride(),
            ).fill_(-1)  # fmt: skip
        names = {_key(tensor): name for name, tensor in reversed(list(tensors.items()))}
        for key, copy in self._storages.items():
            wrong = (copy != other._storages[key].to(copy.device)) & (covered[key] == 0)
            if bool(wrong.any()):
                yield names[key], int(torch.nonzero(wrong)[0])

    def copy_back(self, tensors: Mapping[str, Any]) -> None:
        """Give the originals the contents of the copies, where they differ."""
        import torch

        for tensor in tensors.values():
            whole, copy = _whole_storage(tensor), self.storage(tensor).to(tensor.device)
            if not torch.equal(whole, copy):
                whole.copy_(copy)


def _move_addresses(table: Any, moves: Sequence[tuple[int, int, int]]) -> None:
    import torch

    numbers = table.view(torch.int64)
    before = numbers.cpu()
    after = before.clone()
    for begin, end, new in moves:
        inside = (before >= begin) & (before < end)
        after[inside] = before[inside] + (new - begin)
    numbers.copy_(after)


def _key(tensor: Any) -> tuple[str, int]:
    return str(tensor.device), int(tensor.untyped_storage().data_ptr())


def _whole_storage(tensor: Any) -> Any:
    import torch

    return torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(tensor.untyped_storage())
