"""Tensors whose addresses lie in other tensors: a launch's tables of ``data_ptr()``s.

A kernel that loads addresses from memory reaches tensors that are no arguments. They are found
among the live ones, so that they can be copied to another device with the rest of the launch.
"""

from __future__ import annotations

import bisect
import gc
from collections.abc import Mapping
from typing import Any

from blockscope.cli.launch_copies import CannotCopy

_LEAST_ADDRESS = 1 << 32  # smaller numbers in a table are no addresses, but indices and null


def tables_in(tensors: Mapping[str, Any]) -> dict[str, Any]:
    """The tensors that may hold addresses."""
    import torch

    wide = (torch.int64, torch.uint64)
    return {name: tensor for name, tensor in tensors.items() if tensor.dtype in wide}


def tensors_behind(tables: Mapping[str, Any]) -> dict[str, Any]:
    """The live tensors whose addresses tables hold, by names such as ``table[3]``.

    Errors: CannotCopy for a table that has addresses and one that is no live tensor's, and when no
    table has any.
    """
    import torch

    storages: dict[int, tuple[int, Any]] = {}  # begin -> end, one tensor of the most elements
    for candidate in gc.get_objects():
        if not issubclass(type(candidate), torch.Tensor):
            continue
        try:
            storage = candidate.untyped_storage()
            begin, size = storage.data_ptr(), storage.nbytes()
        except (RuntimeError, NotImplementedError):
            continue
        known = storages.get(begin)
        if size and (known is None or candidate.numel() > known[1].numel()):
            storages[begin] = (begin + size, candidate)
    begins = sorted(storages)

    def owner(address: int) -> Any:
        place = bisect.bisect_right(begins, address) - 1
        if place < 0 or address >= storages[begins[place]][0]:
            return None
        return storages[begins[place]][1]

    found: dict[str, Any] = {}
    for name, table in tables.items():
        addresses = table.detach().view(torch.int64).flatten().tolist()
        owners = [owner(address) for address in addresses]
        if all(tensor is None for tensor in owners):
            continue
        for index, (address, tensor) in enumerate(zip(addresses, owners, strict=True)):
            if tensor is not None:
                found.setdefault(f"{name}[{index}]", tensor)
            elif address >= _LEAST_ADDRESS:
                raise CannotCopy(f"'{name}[{index}]' is the address of no live tensor")
    if not found:
        raise CannotCopy("the kernel takes addresses from memory, and no argument holds any")
    return _each_storage_once(found)


def _each_storage_once(tensors: Mapping[str, Any]) -> dict[str, Any]:
    seen: dict[int, str] = {}
    for name, tensor in tensors.items():
        seen.setdefault(tensor.untyped_storage().data_ptr(), name)
    return {name: tensors[name] for name in seen.values()}
