"""What memory an argument stands for: exact extents of its storage and of the view that was passed.

Anything with ``data_ptr()`` (torch), ``__array_interface__`` (NumPy), ``__cuda_array_interface__``
or DLPack is a tensor. CPU memory is used in place; GPU memory is copied in and, after the launch,
out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from blockscope.runtime.memory import device as device_buffers

_TYPESTR = {
    "b1": "int1",
    "i1": "int8",
    "i2": "int16",
    "i4": "int32",
    "i8": "int64",
    "u1": "uint8",
    "u2": "uint16",
    "u4": "uint32",
    "u8": "uint64",
    "f2": "float16",
    "f4": "float32",
    "f8": "float64",
}
#: Names of dtypes in torch, NumPy and ml_dtypes that are not those of the language.
_DTYPE_NAMES = {
    "bool": "int1",
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "float8_e5m2": "float8e5",
    "float8_e5m2fnuz": "float8e5b16",
    "float8_e4m3fn": "float8e4nv",
    "float8_e4m3fnuz": "float8e4b8",
    "uint1": "int1",
    "fp16": "float16",
    "bf16": "bfloat16",
    "fp32": "float32",
    "fp64": "float64",
    "fp8e5": "float8e5",
    "fp8e4nv": "float8e4nv",
    "fp8e4b8": "float8e4b8",
    "fp8e5b16": "float8e5b16",
    "fp8e4b15": "float8e4b15",
}
_LANGUAGE_NAMES = frozenset(
    """int1 int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64
    float8e5 float8e5b16 float8e4nv float8e4b8 float8e4b15""".split()  # noqa: SIM905
)


@dataclass
class Buffer:
    """Memory of one tensor argument. Strides in elements; sizes in bytes."""

    dtype: str  # a name of the language, "float32"
    pointer: int  # address of element (0, ..., 0)
    storage: int  # address of the storage's first byte
    storage_bytes: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    element_bytes: int
    read_only: bool = False
    owner: Any = None  # keeps the memory alive
    owner_name: str = ""  # how a tensor that is no argument is called
    finish: Callable[[], None] | None = field(default=None)  # copies back to a device


def is_tensor(value: Any) -> bool:
    """Whether an argument stands for memory."""
    kind = type(value)
    return (
        hasattr(kind, "data_ptr")
        or hasattr(value, "data_ptr")
        or (
            hasattr(kind, "__array_interface__")
            and hasattr(kind, "__len__")
            and not hasattr(kind, "dtype_of_scalar")
            and getattr(value, "shape", None) != ()
        )
        or hasattr(kind, "__cuda_array_interface__")
        or hasattr(kind, "__dlpack__")
    )


def dtype_name(value: Any) -> str:
    """Return the language's name of a torch or NumPy dtype, or of anything with such a name.

    Errors: TypeError for element types that kernels cannot have.
    """
    name = getattr(value, "name", None) or str(value)
    name = name.rsplit(".", 1)[-1]
    name = _DTYPE_NAMES.get(name, name)
    if name not in _LANGUAGE_NAMES:
        raise TypeError(f"kernels have no element type for '{value}'")
    return name


def describe(value: Any, name: str) -> Buffer:
    """Return the memory of the tensor argument ``name``.

    Errors: TypeError or ValueError that name the argument.
    """
    try:
        if device_buffers.target_device() is not None:
            return device_buffers.describe(value)
        if getattr(value, "is_mock", False):  # only compiled for: there is no memory to touch
            return Buffer(dtype_name(value.dtype), 0, 0, 0, (0,), (1,), 1, owner=value)
        if hasattr(value, "data_ptr"):
            return _from_torch(value)
        if hasattr(value, "__array_interface__"):
            return _from_array_interface(value)
        if device_buffers.device_of(value) is not None:
            return device_buffers.copy_in_array(value)
        if hasattr(value, "__dlpack__"):
            import numpy

            return _from_array_interface(numpy.from_dlpack(value))
    except (TypeError, ValueError, BufferError, RuntimeError) as error:
        is_on_gpu = isinstance(error, RuntimeError) and _is_in_gpu_memory(value)
        place = " is in GPU memory" if is_on_gpu else ""
        raise type(error)(f"argument '{name}'{place}: {error}") from None
    raise TypeError(
        f"argument '{name}': a {type(value).__name__} has no buffer that can be read here"
    )


def _is_in_gpu_memory(value: Any) -> bool:
    """Also where no driver can be asked."""
    device = str(getattr(value, "device", ""))
    return device.startswith("cuda") or hasattr(value, "__cuda_array_interface__")


def _from_torch(value: Any) -> Buffer:
    dtype = dtype_name(value.dtype)
    device = str(getattr(value, "device", "cpu"))
    if device.split(":")[0] not in ("cpu", "None"):
        return _from_device(value, device)
    pointer = int(value.data_ptr())
    shape = tuple(int(n) for n in getattr(value, "shape", ()) or ())
    element_bytes = int(value.element_size()) if hasattr(value, "element_size") else 1
    strides = (1,) * len(shape)
    if hasattr(value, "stride"):
        strides = tuple(int(n) for n in value.stride())
    if hasattr(value, "untyped_storage"):
        storage = value.untyped_storage()
        base, size = int(storage.data_ptr()), int(storage.nbytes())
    else:
        base, size = pointer, element_bytes * element_count(shape)
    if pointer == 0 and element_count(shape) != 0:
        raise ValueError(
            f"a {dtype} tensor of shape {list(shape)} has no memory (its storage was freed or "
            "moved)"
        )
    if size < _extent(shape, strides, element_bytes) + (pointer - base):
        raise ValueError(
            f"a tensor of shape {list(shape)} needs "
            f"{_extent(shape, strides, element_bytes)} bytes, but its storage has "
            f"{size - (pointer - base)} (it was freed or resized)"
        )
    return Buffer(dtype, pointer, base, size, shape, strides, element_bytes, owner=value)


def _from_device(value: Any, device: str) -> Buffer:
    if device.startswith("meta"):
        raise ValueError("tensor is on device 'meta', which has no data; expected 'cpu' or 'cuda'")
    pointer, base, size, owner, finish = device_buffers.copy_in(value)
    return Buffer(
        dtype_name(value.dtype),
        pointer,
        base,
        size,
        tuple(int(n) for n in value.shape),
        tuple(int(n) for n in value.stride()),
        int(value.element_size()),
        owner=owner,
        finish=finish,
    )


def _from_array_interface(value: Any) -> Buffer:
    interface = value.__array_interface__
    shape = tuple(int(n) for n in interface["shape"])
    pointer, read_only = interface["data"]
    typestr = interface["typestr"]
    if typestr[0] == ">":
        raise TypeError(f"array has byte order '{typestr}'; kernels need little endian")
    named = getattr(value, "dtype", None)
    dtype = _TYPESTR.get(typestr[1:])
    if dtype is None:  # ml_dtypes: the typestr is that of raw bytes
        dtype = dtype_name(named)
    element_bytes = int(typestr[2:])
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
    return pointer + low, _extent(shape, strides, element_bytes) - low


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(1, size)
    return tuple(reversed(strides))


def element_count(shape: tuple[int, ...]) -> int:
    total = 1
    for size in shape:
        total *= size
    return total


def _extent(shape: tuple[int, ...], strides: tuple[int, ...], element_bytes: int) -> int:
    """Bytes from element (0, ..., 0) to the end of the last element in address order."""
    if element_count(shape) == 0:
        return 0
    reach = sum(max(0, (n - 1) * s) for n, s in zip(shape, strides, strict=True))
    return (reach + 1) * element_bytes
