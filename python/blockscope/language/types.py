"""Types of the language: dtypes, pointers, blocks, tuples."""

from __future__ import annotations

import builtins
import enum
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from blockscope import _core
from blockscope.language.constexpr_value import constexpr, unwrap

_FACTS = {row[1]: row for row in _core.dtype_facts()}
_LANGUAGE_NAMES = {row[2]: row[1] for row in _core.dtype_facts() if row[2] != row[1]}
#: mantissa bits and exponent bias
_FLOATS = {
    "fp8e4nv": (3, 7),
    "fp8e4b8": (3, 8),
    "fp8e4b15": (3, 15),
    "fp8e5": (2, 15),
    "fp8e5b16": (2, 16),
    "fp16": (10, 15),
    "bf16": (7, 127),
    "fp32": (23, 127),
    "fp64": (52, 1023),
}


class dtype:
    """An element type, ``dtype("fp32")``. There is one object for each name."""

    SINT_TYPES: ClassVar = ["int8", "int16", "int32", "int64"]
    UINT_TYPES: ClassVar = ["int1", "uint8", "uint16", "uint32", "uint64"]
    FP_TYPES: ClassVar = list(_FLOATS)
    STANDARD_FP_TYPES: ClassVar = ["fp16", "bf16", "fp32", "fp64"]
    OTHER_TYPES: ClassVar = ["void"]

    class SIGNEDNESS(enum.Enum):
        SIGNED = 0
        UNSIGNED = 1

    class KIND(enum.Enum):
        BOOLEAN = 0
        INTEGRAL = 1
        FLOATING = 2

    name: str
    primitive_bitwidth: int
    itemsize: int
    int_bitwidth: int
    int_signedness: Any
    fp_mantissa_width: int
    exponent_bias: int
    _code: int
    _language_name: str
    _known: ClassVar[dict[str, dtype]] = {}

    def __new__(cls, name: Any = None, *args: Any, **kwargs: Any) -> Any:
        if cls is not dtype:
            return object.__new__(cls)
        name = unwrap(name)
        name = name.value if hasattr(name, "value") else name
        if name in cls._known:
            return cls._known[name]
        if name in _LANGUAGE_NAMES:
            return dtype(_LANGUAGE_NAMES[name])
        if name not in _FACTS:
            raise ValueError(f"dtype: no element type is called '{name}'")
        self = object.__new__(cls)
        code, _, language_name, bits, size, is_float, is_signed = _FACTS[name]
        self._code = code
        self.name = name
        self._language_name = language_name
        self.primitive_bitwidth = bits
        self.itemsize = size
        if is_float:
            self.fp_mantissa_width, self.exponent_bias = _FLOATS[name]
        elif name != "void":
            self.int_bitwidth = bits
            self.int_signedness = (
                dtype.SIGNEDNESS.SIGNED if is_signed else dtype.SIGNEDNESS.UNSIGNED
            )
        cls._known[name] = self
        return self

    def __reduce__(self) -> Any:
        return (dtype, (self.name,))

    @property
    def scalar(self) -> dtype:
        return self

    @property
    def type(self) -> Any:
        return self

    @property
    def shape(self) -> Any:
        return ()

    @staticmethod
    def is_dtype(type_str: str) -> bool:
        return type_str in _FACTS

    def is_fp8(self) -> bool:
        return self.name.startswith("fp8")

    def is_floating(self) -> bool:
        return self.name in _FLOATS

    def is_standard_floating(self) -> bool:
        return self.name in self.STANDARD_FP_TYPES

    def is_int_signed(self) -> bool:
        return self.name in self.SINT_TYPES

    def is_int_unsigned(self) -> bool:
        return self.name in self.UINT_TYPES

    def is_int(self) -> bool:
        return self.is_int_signed() or self.is_int_unsigned()

    def is_bool(self) -> bool:
        return self.name == "int1"

    def is_void(self) -> bool:
        return self.name == "void"

    def is_ptr(self) -> bool:
        return False

    def is_block(self) -> bool:
        return False

    def is_const(self) -> bool:
        return False

    @staticmethod
    def is_tuple() -> bool:
        return False

    def kind(self) -> dtype.KIND:
        if self.is_bool():
            return dtype.KIND.BOOLEAN
        return dtype.KIND.INTEGRAL if self.is_int() else dtype.KIND.FLOATING

    def get_int_max_value(self) -> int:
        if self.is_int_signed():
            return 2 ** (self.int_bitwidth - 1) - 1
        if self.is_int_unsigned():
            return 2**self.int_bitwidth - 1
        raise ValueError(f"{self.name} is no integer type")

    def get_int_min_value(self) -> int:
        if self.is_int_signed():
            return -(2 ** (self.int_bitwidth - 1))
        if self.is_int_unsigned():
            return 0
        raise ValueError(f"{self.name} is no integer type")

    @property
    def cache_key_part(self) -> str:
        return self.name

    def codegen_name(self) -> str:
        return self.name

    def __eq__(self, other: Any) -> Any:
        return self is unwrap(other)

    def __ne__(self, other: Any) -> Any:
        return self is not unwrap(other)

    def __hash__(self) -> int:
        return hash((self.name,))

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"triton.language.{self._language_name}"


def _add_dtype_question(name: str) -> None:
    def question(self: dtype) -> bool:
        return self.name == name

    setattr(dtype, f"is_{name}", question)


for _name in _FACTS:
    if _name != "void":
        _add_dtype_question(_name)


class compound_type(dtype):
    """A type made of others: equal to those of its class that have the same parts."""

    def _parts(self) -> Any:
        raise NotImplementedError

    def __eq__(self, other: Any) -> Any:
        other = unwrap(other)
        return type(other) is type(self) and self._parts() == other._parts()

    def __ne__(self, other: Any) -> Any:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._parts())

    def __repr__(self) -> str:
        return self.name


class pointer_type(compound_type):
    """A pointer to ``element_ty``."""

    def __init__(self, element_ty: dtype, address_space: int = 1, const: bool = False) -> None:
        element_ty = unwrap(element_ty)
        if not isinstance(element_ty, dtype):
            raise TypeError(
                f"pointer_type: element_ty is of type {type(element_ty).__name__}, expected a dtype"
            )
        self.element_ty = element_ty
        self.address_space = address_space
        self.const = const
        self.name = f"pointer<{element_ty}>" if not const else f"const_pointer<{element_ty}>"
        self.primitive_bitwidth = 64
        self.itemsize = 8

    def _parts(self) -> Any:
        return (self.element_ty, self.address_space, self.const)

    def __reduce__(self) -> Any:
        return (pointer_type, self._parts())

    def is_ptr(self) -> bool:
        return True

    def is_const(self) -> bool:
        return self.const


class block_type(compound_type):
    """A block of ``element_ty`` with a shape."""

    def __init__(self, element_ty: dtype, shape: Iterable[Any]) -> None:
        self.element_ty = unwrap(element_ty)
        self._shape = builtins.tuple(int(unwrap(size)) for size in unwrap(shape))
        if not self._shape:
            raise TypeError("block_type: a block has at least one dimension")
        self.numel = 1
        for size in self._shape:
            self.numel *= size
        self.name = f"<{[str(size) for size in self._shape]}, {self.element_ty}>"
        self.primitive_bitwidth = self.element_ty.primitive_bitwidth
        self.itemsize = self.element_ty.itemsize

    def _parts(self) -> Any:
        return (self.element_ty, self._shape)

    def __reduce__(self) -> Any:
        return (block_type, self._parts())

    @property
    def shape(self) -> Any:
        return self._shape

    @property
    def scalar(self) -> dtype:
        return self.element_ty

    @property
    def nbytes(self) -> int:
        return self.numel * self.itemsize

    def is_block(self) -> bool:
        return True

    def get_block_shapes(self) -> Any:
        return self._shape

    def with_element_ty(self, scalar_ty: dtype) -> block_type:
        return block_type(scalar_ty, self._shape)


class tuple_type(compound_type):
    """The types of a tuple's items, maybe with field names."""

    def __init__(self, types: Iterable[Any], fields: Any = None) -> None:
        self.types = builtins.list(types)
        self.fields = fields or [""] * len(self.types)
        self.name = (
            "[" + ",".join(f"{f}:{t}" for f, t in zip(self.fields, self.types, strict=True)) + "]"
        )

    def _parts(self) -> Any:
        return (builtins.tuple(self.types), builtins.tuple(self.fields))

    @staticmethod
    def is_tuple() -> bool:
        return True

    def __getitem__(self, index: Any) -> Any:
        return self.types[unwrap(index)]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.types)


class constexpr_type(compound_type):
    """The type of a constexpr: its value."""

    def __init__(self, value: Any) -> None:
        self.value = unwrap(value)
        self.name = f"constexpr[{self.value}]"

    def _parts(self) -> Any:
        return self.value


def _type_of_constexpr(self: constexpr) -> Any:
    """The type of the value where it has one, else that of this constant."""
    return getattr(self.value, "type", None) or constexpr_type(self)


constexpr.type = property(_type_of_constexpr)  # type: ignore[attr-defined]


class const:
    """Annotation of a parameter: a pointer to data that the kernel only reads."""


void = dtype("void")
int1 = dtype("int1")
int8 = dtype("int8")
int16 = dtype("int16")
int32 = dtype("int32")
int64 = dtype("int64")
uint8 = dtype("uint8")
uint16 = dtype("uint16")
uint32 = dtype("uint32")
uint64 = dtype("uint64")
float8e5 = dtype("fp8e5")
float8e5b16 = dtype("fp8e5b16")
float8e4nv = dtype("fp8e4nv")
float8e4b8 = dtype("fp8e4b8")
float8e4b15 = dtype("fp8e4b15")
float16 = dtype("fp16")
bfloat16 = dtype("bf16")
float32 = dtype("fp32")
float64 = dtype("fp64")
pi32_t = pointer_type(int32)

_core.register_language(
    constexpr, dtype, pointer_type, block_type, [dtype(row[1]) for row in _core.dtype_facts()]
)


def get_int_dtype(bitwidth: int, signed: bool) -> dtype:
    """Return the integer type of a width and signedness."""
    bitwidth = unwrap(bitwidth)
    return dtype("int1") if bitwidth == 1 else dtype(f"{'' if signed else 'u'}int{bitwidth}")
