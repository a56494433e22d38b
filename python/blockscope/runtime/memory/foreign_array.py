"""Arrays in GPU memory of libraries other than torch."""

from __future__ import annotations

import ctypes
from typing import Any

from blockscope import _core
from blockscope.runtime.memory.buffer import TYPESTR, contiguous_strides, dtype_name


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


class ForeignArray:
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
        self.shape = tuple([int(n) for n in interface["shape"]])
        self.pointer = int(interface["data"][0])
        typestr = interface["typestr"]
        self.element_bytes = int(typestr[2:])
        self.dtype = TYPESTR.get(typestr[1:]) or dtype_name(value.dtype)
        steps = interface.get("strides")
        if steps is None:
            self.strides = contiguous_strides(self.shape)
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
        self.shape = tuple([tensor.shape[i] for i in range(tensor.ndim)])
        self.strides = (
            tuple([tensor.strides[i] for i in range(tensor.ndim)])
            if tensor.strides
            else contiguous_strides(self.shape)
        )
        self.pointer = int(tensor.data or 0) + int(tensor.byte_offset)
        self.device = int(tensor.device_id)
