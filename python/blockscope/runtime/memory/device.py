"""Arguments in GPU memory: where they are, and their addresses for launches there.

torch tensors, ``__cuda_array_interface__`` and DLPack are understood.
"""

from __future__ import annotations

from typing import Any

from blockscope import _core
from blockscope.runtime.memory.buffer import (
    ERRORS,
    Buffer,
    array_dtype,
    dtype_name,
    named_error,
)
from blockscope.runtime.memory.foreign_array import ForeignArray

ANY_DEVICE = -1
"""In place of a device where a kernel is only compiled: its arguments may be anywhere."""

_DLPACK_GPU = (2, 13)  # device types of CUDA memory and of CUDA managed memory


def device_of(value: Any) -> int | None:
    """The number of the GPU whose memory a tensor is in; None for anything else."""
    kind = type(value)
    if hasattr(kind, "data_ptr") or hasattr(value, "data_ptr"):
        device = getattr(value, "device", None)
        name, _, index = str(device).partition(":")
        if name != "cuda":
            return None
        return int(index) if index.isdigit() else 0
    if hasattr(value, "__array_interface__"):
        return None
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is not None:
        found = _core.gpu.device_of_address(interface["data"][0])
        return found[0] if found else 0
    if hasattr(kind, "__dlpack_device__"):
        device_type, index = value.__dlpack_device__()
        return int(index) if int(device_type) in _DLPACK_GPU else None
    return None


class DeviceMemory:
    """The arguments of one launch on a GPU: addresses that it can use; nothing is copied."""

    def __init__(self, device: int) -> None:
        self.device = device

    def describe(self, value: Any, name: str) -> Buffer:
        """Return dtype and address of the tensor argument ``name``; the rest is not known.

        Errors: TypeError or ValueError that name the argument; ValueError for memory that the GPU
        cannot reach.
        """
        try:
            return self._describe(value)
        except ERRORS as error:
            raise named_error(error, value, name) from None

    def _describe(self, value: Any) -> Buffer:
        if getattr(value, "is_mock", False):
            return Buffer(dtype_name(value.dtype), 0, 0, 0, (0,), (1,), 1, owner=value)
        if device_of(value) is None:
            pointer, dtype = self._host_address(value)
        elif hasattr(value, "data_ptr"):
            pointer, dtype = int(value.data_ptr()), dtype_name(value.dtype)
        else:
            array = ForeignArray(value)
            pointer, dtype, value = array.pointer, array.dtype, array
        return Buffer(dtype, pointer, pointer, 0, (), (), 1, owner=value)

    def _host_address(self, value: Any) -> tuple[int, str]:
        """Page-locked host memory can be reached from the GPU, other host memory cannot."""
        if hasattr(value, "data_ptr"):
            pointer, dtype = int(value.data_ptr()), dtype_name(value.dtype)
        elif hasattr(value, "__array_interface__"):
            pointer = int(value.__array_interface__["data"][0])
            dtype = array_dtype(value)
        else:
            pointer, dtype = 0, ""
        if self.device == ANY_DEVICE and dtype:
            return pointer, dtype
        found = _core.gpu.device_of_address(pointer) if pointer else None
        if found is None:
            where = getattr(value, "device", "cpu")
            raise ValueError(
                f"tensor is on '{where}', but another argument is on a GPU; expected all on "
                f"'cuda:{self.device}'"
            )
        return found[1], dtype
