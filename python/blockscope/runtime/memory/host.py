"""Arguments in CPU memory, for the CPU modes: in place, or as copies of GPU memory.

Each storage in GPU memory is copied to the host once per launch, whole, so that views of one
storage still share it, and what has changed is copied back.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from blockscope import _core
from blockscope.language import core
from blockscope.runtime.memory.buffer import (
    ERRORS,
    Buffer,
    array_dtype,
    contiguous_strides,
    dtype_name,
    element_count,
    extent,
    named_error,
)
from blockscope.runtime.memory.device import device_of
from blockscope.runtime.memory.foreign_array import ForeignArray


class HostMemory:
    """The arguments of one launch on the CPU.

    ``find`` gives the live tensor at an address; it is asked where strides lead out of all that an
    argument says about its memory.
    """

    def __init__(self, find: Callable[[int], Buffer | None] = lambda _: None) -> None:
        self._find = find
        self._copies: dict[tuple[str, int], Any] = {}  # of storages, by device and address

    def describe(self, value: Any, name: str) -> Buffer:
        """Return the memory of the tensor argument ``name``.

        Errors: TypeError or ValueError that name the argument.
        """
        try:
            if getattr(value, "is_mock", False):  # only compiled for: there is no memory to touch
                return Buffer(dtype_name(value.dtype), 0, 0, 0, (0,), (1,), 1, owner=value)
            if hasattr(value, "data_ptr"):
                if getattr(value, "is_neg", bool)():  # bool() is False
                    raise ValueError(
                        "tensor is a view that torch negates when it is read (is_neg()), and its "
                        "memory holds the opposite signs; pass x.resolve_neg()"
                    )
                device = str(getattr(value, "device", "cpu"))
                if device.split(":")[0] not in ("cpu", "None"):
                    return self._copy_of_torch(value, device)
                return _from_torch(value, self._find)
            if hasattr(value, "__array_interface__"):
                return _from_array_interface(value)
            if device_of(value) is not None:
                return _copy_of_array(value)
            if hasattr(value, "__dlpack__"):
                import numpy

                return _from_array_interface(numpy.from_dlpack(value))
        except ERRORS as error:
            layout = str(getattr(value, "layout", "torch.strided"))
            if layout != "torch.strided":
                raise TypeError(
                    f"argument '{name}': tensor has layout {layout}, expected torch.strided; pass "
                    "the dense tensors that it is made of"
                ) from None
            raise named_error(error, value, name) from None
        raise TypeError(
            f"argument '{name}': a {type(value).__name__} has no buffer that can be read here"
        )

    def _copy_of_torch(self, value: Any, device: str) -> Buffer:
        """A torch tensor that is not on the CPU, in a copy of its storage.

        Copying back touches the GPU only when bytes have changed.
        """
        if device.startswith("meta"):
            raise ValueError(
                "tensor is on device 'meta', which has no data; expected 'cpu' or 'cuda'"
            )
        import torch

        dtype = dtype_name(value.dtype)
        storage = value.untyped_storage()
        key = (device, int(storage.data_ptr()))
        host = self._copies.get(key)
        finish = None
        if host is None:
            there = torch.empty(0, dtype=torch.uint8, device=value.device).set_(storage)
            host = self._copies[key] = there.cpu()
            before = host.clone()

            def finish() -> None:
                if not torch.equal(host, before):
                    there.copy_(host)

        base = int(host.data_ptr())
        return Buffer(
            dtype,
            base + int(value.data_ptr()) - key[1],
            base,
            int(storage.nbytes()),
            tuple([int(n) for n in value.shape]),
            tuple([int(n) for n in value.stride()]),
            int(value.element_size()),
            owner=(value, host),
            finish=finish,
            copied_from=int(value.data_ptr()),
        )


def _from_torch(value: Any, find: Callable[[int], Buffer | None]) -> Buffer:
    """Anything with ``data_ptr()``. Its strides may claim more than its storage has.

    Errors: ValueError where nothing says how much memory there is.
    """
    dtype = dtype_name(value.dtype)
    pointer = int(value.data_ptr())
    if hasattr(value, "element_size"):
        element_bytes = int(value.element_size())
    else:
        element_bytes = getattr(core, dtype).primitive_bitwidth // 8 or 1
    if getattr(value, "shape", None) is None and pointer != 0:
        return _from_address(value, dtype, pointer, element_bytes, find)
    shape = tuple([int(n) for n in getattr(value, "shape", None) or ()])
    strides = contiguous_strides(shape)
    if hasattr(value, "stride"):
        strides = tuple([int(n) for n in value.stride()])
    read_only = False
    if hasattr(value, "untyped_storage"):
        storage = value.untyped_storage()
        base, size = int(storage.data_ptr()), int(storage.nbytes())
        # torch does not know it of memory from elsewhere (np.memmap), which cannot be resized
        is_own = getattr(storage, "resizable", lambda: True)()
        read_only = not is_own and not _core.is_writable(base, size)
    else:
        base, size = pointer, element_bytes * element_count(shape)
        if size < extent(shape, strides, element_bytes) and (holder := find(pointer)):
            base, size = holder.storage, holder.storage_bytes
    if pointer == 0:
        base, size = 0, 0
    return Buffer(dtype, pointer, base, size, shape, strides, element_bytes, read_only, value)


def _from_address(
    value: Any, dtype: str, pointer: int, element_bytes: int, find: Callable[[int], Buffer | None]
) -> Buffer:
    """What has an address and no shape: all from there to the end of the storage."""
    if hasattr(value, "untyped_storage"):
        storage = value.untyped_storage()
        base, size = int(storage.data_ptr()), int(storage.nbytes())
    elif holder := find(pointer):
        base, size = holder.storage, holder.storage_bytes
    else:
        raise ValueError(
            f"a {type(value).__name__} with data_ptr() and no shape, whose address {pointer:#x} is "
            "in no live tensor: how large its memory is cannot be known; expected a shape"
        )
    count = (base + size - pointer) // element_bytes
    return Buffer(dtype, pointer, base, size, (count,), (1,), element_bytes, owner=value)


def _from_array_interface(value: Any) -> Buffer:
    interface = value.__array_interface__
    dtype = array_dtype(value)
    shape = tuple([int(n) for n in interface["shape"]])
    if not isinstance(interface.get("data"), tuple):
        raise TypeError("array gives its memory as a buffer, expected (address, read-only)")
    pointer, read_only = interface["data"]
    element_bytes = int(interface["typestr"][2:])
    steps = interface.get("strides")
    if steps is None:
        strides = contiguous_strides(shape)
    else:
        if any(step % element_bytes for step in steps):
            raise ValueError(f"array has strides {steps} that are no multiples of its element size")
        strides = tuple(int(step) // element_bytes for step in steps)
    base, size = _numpy_storage(value, int(pointer), shape, strides, element_bytes)
    return Buffer(
        dtype, int(pointer), base, size, shape, strides, element_bytes, bool(read_only), value
    )


def _numpy_storage(
    value: Any, pointer: int, shape: tuple[int, ...], strides: tuple[int, ...], element_bytes: int
) -> tuple[int, int]:
    """Follow ``.base`` to the array that owns the memory."""
    owner = value
    while getattr(owner, "base", None) is not None and hasattr(owner.base, "__array_interface__"):
        owner = owner.base
    if owner is not value and hasattr(owner, "nbytes") and owner.flags["C_CONTIGUOUS"]:
        return int(owner.__array_interface__["data"][0]), int(owner.nbytes)
    low = sum(min(0, (n - 1) * s) for n, s in zip(shape, strides, strict=True)) * element_bytes
    if 0 in shape:
        return pointer, 0
    return pointer + low, extent(shape, strides, element_bytes) - low


def _copy_of_array(value: Any) -> Buffer:
    """An array in GPU memory that is no torch tensor; its extent is its view's."""
    array = ForeignArray(value)
    low = sum(min(0, (n - 1) * s) for n, s in zip(array.shape, array.strides, strict=True))
    high = sum(max(0, (n - 1) * s) for n, s in zip(array.shape, array.strides, strict=True))
    size = 0 if 0 in array.shape else (high - low + 1) * array.element_bytes
    begin = array.pointer + low * array.element_bytes
    memory = (ctypes.c_char * max(size, 1))()
    base = ctypes.addressof(memory)
    if size:
        _core.gpu.copy_to_host(base, begin, size, array.device)
    before = bytes(memory)

    def finish() -> None:
        if size and bytes(memory) != before:
            _core.gpu.copy_to_device(begin, base, size, array.device)

    return Buffer(
        array.dtype,
        base - low * array.element_bytes,
        base,
        size,
        array.shape,
        array.strides,
        array.element_bytes,
        owner=(value, memory),
        finish=finish,
        copied_from=array.pointer,
    )
