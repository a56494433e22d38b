"""The element types of torch and NumPy, and what is said of values that are not kept."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np

from blockscope.runtime.memory.buffer import Buffer, extent

#: By the language's name: the name in torch, in ml_dtypes, and the bytes of an element.
_TYPES = {
    "int1": ("bool", "bool", 1),
    "int8": ("int8", "int8", 1),
    "int16": ("int16", "int16", 2),
    "int32": ("int32", "int32", 4),
    "int64": ("int64", "int64", 8),
    "uint8": ("uint8", "uint8", 1),
    "uint16": ("uint16", "uint16", 2),
    "uint32": ("uint32", "uint32", 4),
    "uint64": ("uint64", "uint64", 8),
    "float16": ("float16", "float16", 2),
    "bfloat16": ("bfloat16", "bfloat16", 2),
    "float32": ("float32", "float32", 4),
    "float64": ("float64", "float64", 8),
    "float8e5": ("float8_e5m2", "float8_e5m2", 1),
    "float8e5b16": ("float8_e5m2fnuz", "float8_e5m2fnuz", 1),
    "float8e4nv": ("float8_e4m3fn", "float8_e4m3fn", 1),
    "float8e4b8": ("float8_e4m3fnuz", "float8_e4m3fnuz", 1),
    "float8e4b15": ("", "", 1),
}
NAMES = tuple(_TYPES)


def element_bytes(dtype: str) -> int:
    return _TYPES[dtype][2]


def library_of(value: Any) -> dict[str, Any]:
    """Whose tensor it is: torch's, NumPy's, or another one, which comes back as one of ours."""
    module = type(value).__module__.partition(".")[0]
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return {"library": "torch"}
    if module == "numpy":
        return {"library": "numpy"}
    return {"library": "other"}


def torch_dtype(name: str) -> Any:
    """torch's dtype of a name of the language; None where it has none, or is not installed."""
    try:
        import torch
    except ImportError:
        return None
    return getattr(torch, _TYPES[name][0], None)


def numpy_name(name: str) -> str:
    """NumPy's own name of a dtype; empty where it has none."""
    theirs = "bool_" if name == "int1" else _TYPES[name][1]
    return theirs if theirs and hasattr(np, theirs) else ""


def numpy_dtype(name: str) -> Any:
    """NumPy's dtype, from ml_dtypes for the small floats; None where there is none."""
    theirs = _TYPES[name][1]
    if not theirs:
        return None
    if hasattr(np, theirs) or theirs == "bool":
        return np.dtype(theirs)
    try:
        import ml_dtypes
    except ImportError:
        return None
    return np.dtype(getattr(ml_dtypes, theirs))


def is_float(name: str) -> bool:
    return "float" in name


def statistics(buffer: Buffer) -> dict[str, Any]:
    """The least and the largest value, and how many are not finite, of a tensor whose values are
    not kept. Floats that NumPy does not know have none."""
    kind = numpy_dtype(buffer.dtype)
    size = extent(buffer.shape, buffer.strides, buffer.element_bytes)
    steps = [n * buffer.element_bytes for n in buffer.strides]
    if kind is None or not size or any(step < 0 for step in steps):
        return {}
    inside = buffer.storage <= buffer.pointer <= buffer.storage + buffer.storage_bytes - size
    if not inside:
        return {}
    raw = (ctypes.c_char * size).from_address(buffer.pointer)
    values: Any = np.ndarray(buffer.shape, kind, memoryview(raw), 0, steps)
    if not is_float(buffer.dtype):
        return {"least": int(values.min()), "largest": int(values.max())}
    wide = values.astype(np.float64)
    finite = wide[np.isfinite(wide)]
    found: dict[str, Any] = {
        "nan": int(np.isnan(wide).sum()),
        "infinite": int(np.isinf(wide).sum()),
    }
    if finite.size:
        found |= {"least": float(finite.min()), "largest": float(finite.max())}
    return found
