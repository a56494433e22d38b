"""The memory that an argument stands for: exact extents of its storage and of the view passed.

Anything with ``data_ptr()`` (torch), ``__array_interface__`` (NumPy), ``__cuda_array_interface__``
or DLPack is a tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

TYPESTR = {
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
    copied_from: int = 0  # address on a device of what `pointer` has a copy of

    @property
    def is_gone(self) -> bool:
        """Whether a tensor with elements has no memory: it was freed or resized to 0."""
        return self.storage_bytes == 0 and element_count(self.shape) != 0


def is_tensor(value: Any) -> bool:
    """Whether an argument stands for memory."""
    if isinstance(value, type):
        return False
    return (
        (hasattr(value, "data_ptr") and hasattr(value, "dtype"))
        or (hasattr(value, "__array_interface__") and getattr(value, "shape", None) != ())
        or hasattr(value, "__cuda_array_interface__")
        or hasattr(value, "__dlpack__")
    )


_NUMBERS = (bool, int, float, str)


def tensors_in(values: Any) -> Any:
    """The tensors among some arguments, in tuples and descriptors too."""
    for value in values:
        if isinstance(value, tuple):
            yield from tensors_in(value)
        elif hasattr(value, "block_shape") and hasattr(value, "base"):
            yield value.base
        elif not isinstance(value, _NUMBERS) and value is not None and is_tensor(value):
            yield value


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


def array_dtype(value: Any) -> str:
    """Return the language's name of the dtype of anything with ``__array_interface__``.

    Errors: TypeError for element types that kernels cannot have.
    """
    typestr = value.__array_interface__["typestr"]
    if typestr[0] == ">":
        raise TypeError(f"array has byte order '{typestr}'; kernels need little endian")
    # ml_dtypes: the typestr is that of raw bytes
    return TYPESTR.get(typestr[1:]) or dtype_name(getattr(value, "dtype", typestr))


class Memory(Protocol):
    """Where a backend wants the arguments of a launch to be."""

    def describe(self, value: Any, name: str) -> Buffer:
        """The memory of the tensor argument ``name``.

        Errors: TypeError or ValueError that name the argument.
        """
        ...


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


def extent(shape: tuple[int, ...], strides: tuple[int, ...], element_bytes: int) -> int:
    """Bytes from element (0, ..., 0) to the end of the last element in address order."""
    if element_count(shape) == 0:
        return 0
    reach = sum(max(0, (n - 1) * s) for n, s in zip(shape, strides, strict=True))
    return (reach + 1) * element_bytes


def named_error(error: Exception, value: Any, name: str) -> Exception:
    """The error of a tensor argument with the argument's name."""
    # Also where no driver can be asked.
    is_on_gpu = isinstance(error, RuntimeError) and (
        str(getattr(value, "device", "")).startswith("cuda")
        or hasattr(value, "__cuda_array_interface__")
    )
    place = " is in GPU memory" if is_on_gpu else ""
    return type(error)(f"argument '{name}'{place}: {error}")


#: What tensors of all libraries raise when they have no memory that can be described.
ERRORS = (TypeError, ValueError, BufferError, RuntimeError)
