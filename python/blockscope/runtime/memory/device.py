"""Tensors in GPU memory: where they are, their addresses, and copies of them for the CPU modes.

torch tensors, ``__cuda_array_interface__`` and DLPack are understood. When a kernel on such tensors
is interpreted or checked, each storage is copied to the host once per launch, whole, so that views
of one storage still share it, and what has changed is copied back.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from blockscope import _core

ANY_DEVICE = -1
"""In place of a device where a kernel is only compiled: its arguments may be anywhere."""

_DLPACK_GPU = (2, 13)  # device types of CUDA memory and of CUDA managed memory
_state = threading.local()


def device_of(value: Any) -> int | None:
    """The number of the GPU whose memory a tensor is in; None for anything else."""
    kind = type(value)
    if hasattr(kind, "data_ptr") or hasattr(value, "data_ptr"):
        device = getattr(value, "device", None)
        name, _, index = str(device).partition(":")
        if name != "cuda":
            return None
        return int(index) if index.isdigit() else 0
    if hasattr(kind, "__array_interface__"):
        return None
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is not None:
        found = _core.gpu.device_of_address(interface["data"][0])
        return found[0] if found else 0
    if hasattr(kind, "__dlpack_device__"):
        device_type, index = value.__dlpack_device__()
        return int(index) if int(device_type) in _DLPACK_GPU else None
    return None


# -- addresses, for launches on the GPU ------------------------------------------------------------


@contextmanager
def addresses_on(device: int) -> Iterator[None]:
    """Inside, ``buffers.describe`` gives addresses that GPU ``device`` can use, and copies nothing.

    Errors of ``describe``: ValueError for memory that the GPU cannot reach.
    """
    outer = getattr(_state, "device", None)
    _state.device = device
    try:
        yield
    finally:
        _state.device = outer


def target_device() -> int | None:
    """The GPU whose addresses are asked for now, None on the way to a CPU mode."""
    return getattr(_state, "device", None)


def describe(value: Any) -> Any:
    """The buffer of an argument of a GPU launch: its dtype and address; the rest is not known."""
    from blockscope.runtime.memory import buffers

    if getattr(value, "is_mock", False):
        return buffers.Buffer(buffers.dtype_name(value.dtype), 0, 0, 0, (0,), (1,), 1, owner=value)
    device = device_of(value)
    if device is None:
        pointer, dtype = _address_of_host_memory(value)
    elif hasattr(value, "data_ptr"):
        pointer, dtype = int(value.data_ptr()), buffers.dtype_name(value.dtype)
    else:
        array = _Array(value)
        pointer, dtype, value = array.pointer, array.dtype, array
    return buffers.Buffer(dtype, pointer, pointer, 0, (), (), 1, owner=value)


def _address_of_host_memory(value: Any) -> tuple[int, str]:
    """Page-locked host memory can be reached from the GPU, other host memory cannot."""
    from blockscope.runtime.memory import buffers

    if hasattr(value, "data_ptr"):
        pointer, dtype = int(value.data_ptr()), buffers.dtype_name(value.dtype)
    elif hasattr(value, "__array_interface__"):
        pointer = int(value.__array_interface__["data"][0])
        dtype = buffers.dtype_name(value.dtype)
    else:
        pointer, dtype = 0, ""
    if target_device() == ANY_DEVICE and dtype:
        return pointer, dtype
    found = _core.gpu.device_of_address(pointer) if pointer else None
    if found is None:
        where = getattr(value, "device", "cpu")
        raise ValueError(
            f"tensor is on '{where}', but another argument is on a GPU; expected all on "
            f"'cuda:{target_device()}'"
        )
    return found[1], dtype


# -- copies, for the CPU modes ---------------------------------------------------------------------


@contextmanager
def host_copies() -> Iterator[None]:
    """Inside, every storage in GPU memory is copied once, whatever the number of its views."""
    outer = getattr(_state, "copies", None)
    _state.copies = {}
    try:
        yield
    finally:
        _state.copies = outer


def copy_in(value: Any) -> tuple[int, int, int, Any, Any]:
    """Copy the storage of a torch tensor that is not on the CPU.

    Returns the addresses of the first element and of the storage in the copy, the storage's bytes,
    what keeps the copy alive, and a function that copies back (None when an earlier argument has
    the same storage). Copying back touches the GPU only when bytes have changed.
    """
    import torch

    storage = value.untyped_storage()
    copies = getattr(_state, "copies", None)
    key = (str(value.device), int(storage.data_ptr()))
    offset = int(value.data_ptr()) - key[1]
    host = copies.get(key) if copies is not None else None
    finish = None
    if host is None:
        there = torch.empty(0, dtype=torch.uint8, device=value.device).set_(storage)
        host = there.cpu()
        before = host.clone()

        def finish() -> None:
            if not torch.equal(host, before):
                there.copy_(host)

        if copies is not None:
            copies[key] = host
    base = int(host.data_ptr())
    return base + offset, base, int(storage.nbytes()), (value, host), finish


def copy_in_array(value: Any) -> Any:
    """The buffer of an array in GPU memory that is no torch tensor; its extent is its view's."""
    from blockscope.runtime.memory import buffers

    array = _Array(value)
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

    return buffers.Buffer(
        array.dtype,
        base - low * array.element_bytes,
        base,
        size,
        array.shape,
        array.strides,
        array.element_bytes,
        owner=(value, memory),
        finish=finish,
    )


# -- arrays of other libraries ---------------------------------------------------------------------


class _DLDataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("dtype", _DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Array:
    """An array in GPU memory, seen through ``__cuda_array_interface__`` or DLPack.

    Work on it in streams other than the default one is the caller's to wait for.
    """

    def __init__(self, value: Any) -> None:
        self.owner = value
        interface = getattr(value, "__cuda_array_interface__", None)
        if interface is not None:
            self._from_interface(value, interface)
        else:
            self._from_dlpack(value)

    def _from_interface(self, value: Any, interface: dict[str, Any]) -> None:
        from blockscope.runtime.memory import buffers

        self.shape = tuple(int(n) for n in interface["shape"])
        self.pointer = int(interface["data"][0])
        typestr = interface["typestr"]
        self.element_bytes = int(typestr[2:])
        self.dtype = buffers._TYPESTR.get(typestr[1:]) or buffers.dtype_name(value.dtype)
        steps = interface.get("strides")
        if steps is None:
            self.strides = _contiguous(self.shape)
        else:
            self.strides = tuple(int(step) // self.element_bytes for step in steps)
        found = _core.gpu.device_of_address(self.pointer) if self.pointer else None
        self.device = found[0] if found else 0

    def _from_dlpack(self, value: Any) -> None:
        capsule = value.__dlpack__()
        self.owner = (value, capsule)  # the capsule was not consumed: it frees its tensor itself
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        tensor = _DLTensor.from_address(get(capsule, b"dltensor"))
        code, bits = tensor.dtype.code, tensor.dtype.bits
        kinds = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 6: "bool"}
        if code not in kinds or tensor.dtype.lanes != 1:
            raise TypeError(f"DLPack tensor has element type code {code} with {bits} bits")
        self.dtype = "int1" if code == 6 else f"{kinds[code]}{bits}"
        self.element_bytes = bits // 8
        self.shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
        self.strides = (
            tuple(tensor.strides[i] for i in range(tensor.ndim))
            if tensor.strides
            else _contiguous(self.shape)
        )
        self.pointer = int(tensor.data or 0) + int(tensor.byte_offset)
        self.device = int(tensor.device_id)


def _contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(1, size)
    return tuple(reversed(strides))
