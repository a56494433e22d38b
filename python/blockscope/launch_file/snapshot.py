"""The arguments of a launch as data: values, and tensors over copies of their storages."""

from __future__ import annotations

import ctypes
import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blockscope.errors import LaunchFileError
from blockscope.frontend.kernel_function import KernelFunction
from blockscope.language import core
from blockscope.launch_file import dtypes
from blockscope.launch_file.functions import Functions
from blockscope.launch_file.undefined_log import UndefinedLog
from blockscope.runtime.memory.buffer import Buffer, is_tensor
from blockscope.runtime.memory.host import HostMemory
from blockscope.runtime.memory.live_tensors import LiveTensors
from blockscope.runtime.tensors import MockNumber, TensorWrapper

#: A tensor of addresses has no more entries than this, or it is taken for numbers.
_MOST_ADDRESSES = 1 << 20
_LEAST_ADDRESS = 1 << 16
_ALIGNMENT = 4096


@dataclass
class _Range:
    """Memory of one storage, or of several that overlap: [begin, end)."""

    begin: int
    end: int
    key: Any  # of the storage, which stays from launch to launch
    tensors: list[dict[str, Any]] = field(default_factory=list)


class Snapshot:
    """One launch's arguments. ``value`` is called for each, then ``memory`` once."""

    def __init__(self, functions: Functions, *, has_addresses: bool, keeps_values: bool) -> None:
        self._functions = functions
        self._has_addresses = has_addresses
        self._keeps_values = keeps_values
        self._host = HostMemory(lambda address: LiveTensors().find(address))
        self._ranges: list[_Range] = []
        self._kept: list[Any] = []  # copies of GPU memory
        self._tables: list[Buffer] = []
        #: Tensors that are no arguments, but whose address is in one.
        self.behind: list[Any] = []

    # -- values -----------------------------------------------------------------------------------

    def value(self, value: Any, name: str, *, is_constexpr: bool) -> Any:
        """An argument as JSON. Errors: LaunchFileError that names it."""
        what = f"argument '{name}'"
        if isinstance(value, core.constexpr) or is_constexpr:
            return self._functions.value(value, what)
        if value is None or isinstance(value, str | KernelFunction | core.dtype):
            return self._functions.value(value, what)
        if isinstance(value, enum.Enum) and isinstance(value, int):
            return int.__index__(value)
        if isinstance(value, tuple):
            return self._tuple(value, name)
        if isinstance(value, int | float):
            return self._functions.value(value, what)
        if hasattr(value, "block_shape") and hasattr(value, "base"):
            return self._descriptor(value, name)
        if isinstance(value, MockNumber) or getattr(value, "is_mock", False):
            raise LaunchFileError(f"{what} stands for a value, and has none")
        if isinstance(value, TensorWrapper):
            inner = self._tensor(value.base, name)
            return {"reinterpreted": [inner, self._functions.value(value.dtype, what)]}
        if is_tensor(value):
            return self._tensor(value, name)
        return self._functions.value(value, what)

    def _tuple(self, value: Any, name: str) -> Any:
        items = [
            self.value(item, f"{name}.{i}", is_constexpr=False) for i, item in enumerate(value)
        ]
        if isinstance(value, core.tuple):
            fields = getattr(value, "_fields", None)
            return {"kernel_tuple": [fields and list(fields), items]}
        if hasattr(value, "_fields"):
            return {"named_tuple": [self._functions.value(type(value), f"'{name}'"), items]}
        return {"tuple": items}

    def _descriptor(self, value: Any, name: str) -> Any:
        return {
            "descriptor": {
                "base": self.value(value.base, name, is_constexpr=False),
                "shape": [int(n) for n in value.shape],
                "strides": [int(n) for n in value.strides],
                "block_shape": [int(n) for n in value.block_shape],
                "padding": getattr(value, "padding", None) or "zero",
                "round_f32_to_tf32": bool(getattr(value, "round_f32_to_tf32", False)),
            }
        }

    # -- tensors ----------------------------------------------------------------------------------

    def _tensor(self, value: Any, name: str) -> Any:
        try:
            buffer = self._host.describe(value, name)
        except (TypeError, ValueError, BufferError, RuntimeError) as error:
            raise LaunchFileError(str(error)) from None
        return self._described(buffer, value)

    def _described(self, buffer: Buffer, value: Any) -> Any:
        self._kept.append(buffer.owner)
        tensor = {
            **dtypes.library_of(value),
            "dtype": buffer.dtype,
            "element_bytes": buffer.element_bytes,
            "storage": [buffer.storage, buffer.storage_bytes],
            "offset": buffer.pointer - buffer.storage,
            "shape": list(buffer.shape),
            "strides": list(buffer.strides),
            "read_only": buffer.read_only,
            "device": str(getattr(value, "device", "cpu")),
        }
        if not self._keeps_values:
            tensor["statistics"] = dtypes.statistics(buffer)
        key = (tensor["device"], buffer.storage)
        if buffer.copied_from:
            key = (tensor["device"], buffer.copied_from - buffer.pointer + buffer.storage)
        self._ranges.append(
            _Range(buffer.storage, buffer.storage + buffer.storage_bytes, key, [tensor])
        )
        if self._has_addresses and buffer.dtype in ("int64", "uint64"):
            self._tables.append(buffer)
        return {"tensor": tensor}

    # -- memory -----------------------------------------------------------------------------------

    def memory(
        self, block_of: Callable[[Any, int, int], int], undefined: UndefinedLog | None
    ) -> Iterator[tuple[int, memoryview | None, dict[str, Any]]]:
        """Gives each block of memory: its number, its bytes (None where values are not kept), and
        what else is said of it. ``block_of(key, size, alignment)`` gives numbers."""
        pointers = self._addresses()
        numbers = []
        merged = _merged(self._ranges)
        for each in merged:
            size, begin = each.end - each.begin, each.begin
            number = block_of(each.key, size, begin % _ALIGNMENT)
            numbers.append(number)
            for tensor in each.tensors:
                storage, bytes_ = tensor["storage"]
                tensor["block"] = number
                tensor["storage"] = [storage - begin, bytes_]
        for number, each in zip(numbers, merged, strict=True):
            size = each.end - each.begin
            said: dict[str, Any] = {}
            for at, address in pointers:
                if each.begin <= at < each.end:
                    target, owner = next(
                        (n, r) for n, r in zip(numbers, merged, strict=True)
                        if r.begin <= address < r.end
                    )  # fmt: skip
                    pair = [at - each.begin, target, address - owner.begin]
                    said.setdefault("addresses", []).append(pair)
            if undefined is not None and (found := undefined.of(each.begin, size)) is not None:
                said["undefined"] = found
            bytes_of = (ctypes.c_char * size).from_address(each.begin) if size else b""
            data = memoryview(bytes_of).cast("B") if self._keeps_values or not size else None
            if pointers and not self._keeps_values:
                raise LaunchFileError(
                    "the kernel takes addresses from memory, which is not kept with --no-values"
                )
            yield number, data, said

    def _addresses(self) -> list[tuple[int, int]]:
        """Where addresses of tensors lie in memory, and which; the tensors join the snapshot."""
        found: list[tuple[int, int]] = []
        live = LiveTensors()
        todo, seen = list(self._tables), set[int]()
        while todo:
            buffer = todo.pop()
            if buffer.storage in seen or buffer.storage_bytes // 8 > _MOST_ADDRESSES:
                continue
            seen.add(buffer.storage)
            begin = buffer.storage + (buffer.pointer - buffer.storage) % 8
            count = (buffer.storage + buffer.storage_bytes - begin) // 8
            words = np.ctypeslib.as_array((ctypes.c_uint64 * count).from_address(begin))
            for index in np.flatnonzero(words >= _LEAST_ADDRESS).tolist():
                address = int(words[index])
                owner = None if address >= 1 << 62 else live.find(address)
                if owner is None:
                    continue
                found.append((begin + 8 * index, address))
                if not any(r.begin <= address < r.end for r in self._ranges):
                    value = owner.owner
                    inner = self._host.describe(value, "tensor")
                    self.behind.append(self._described(inner, value))
        return found


def _merged(ranges: list[_Range]) -> list[_Range]:
    """Ranges that overlap as one."""
    found: list[_Range] = []
    for each in sorted(ranges, key=lambda r: (r.begin, -r.end)):
        last = found[-1] if found else None
        if last is not None and (
            each.begin < last.end or (each.begin, each.end) == (last.begin, last.end)
        ):
            last.tensors += each.tensors
            last.end = max(last.end, each.end)
        else:
            found.append(_Range(each.begin, each.end, each.key, list(each.tensors)))
    return found
