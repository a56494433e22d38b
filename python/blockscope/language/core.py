"""Types and values of the language: dtypes, constexpr, tuple, tensor. All else builds on these."""

from __future__ import annotations

import builtins
import enum
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, TypeVar

from blockscope import _core
from blockscope._core import semantic as _semantic

F = TypeVar("F", bound=Callable[..., Any])

#: The largest number of elements of a block.
TRITON_MAX_TENSOR_NUMEL = 1048576

tensor = _core.tensor


def builtin(fn: F) -> F:
    """Mark a function that kernels may call."""
    fn.__blockscope_builtin__ = True  # type: ignore[attr-defined]
    return fn


def is_builtin(fn: Any) -> bool:
    return getattr(fn, "__blockscope_builtin__", False)


def tensor_method(fn: F) -> F:
    """Mark a function that kernels may call, also as a method of tensor."""
    setattr(tensor, fn.__name__, fn)
    return builtin(fn)


class PropagateNan(enum.Enum):
    """What minimum, maximum and clamp give for a NaN: the other operand, or NaN."""

    NONE = 0
    ALL = 0xFFFF


# -- constexpr ------------------------------------------------------------------------------------


def unwrap(value: Any) -> Any:
    """Return the Python value inside a constexpr, anything else as it is."""
    return value.value if type(value) is constexpr else value


_unwrap_if_constexpr = unwrap


class constexpr:
    """A value known when the kernel is compiled. Operators on two of them give another."""

    __slots__ = ("value",)
    value: Any

    def __init__(self, value: Any) -> None:
        while isinstance(value, constexpr):
            value = value.value
        self.value = value

    def __repr__(self) -> str:
        return f"constexpr[{self.value}]"

    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    def __hash__(self) -> int:
        return hash(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __index__(self) -> int:
        return operator.index(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.value)

    def __contains__(self, item: Any) -> bool:
        return unwrap(item) in self.value

    def __getitem__(self, key: Any) -> Any:
        found = self.value[unwrap(key)]
        return constexpr(found) if isinstance(found, bool | int | float | str) else found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.value(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(object.__getattribute__(self, "value"), name)

    def __getstate__(self) -> Any:
        return self.value

    def __setstate__(self, state: Any) -> None:
        self.value = state

    def logical_and(self, other: Any) -> constexpr:
        return constexpr(self.value and unwrap(other))

    def logical_or(self, other: Any) -> constexpr:
        return constexpr(self.value or unwrap(other))

    def logical_not(self) -> constexpr:
        return constexpr(not self.value)


def _constexpr_operator(name: str, function: Callable[[Any, Any], Any]) -> None:
    def forward(self: constexpr, other: Any) -> Any:
        if type(other) is tensor:
            return NotImplemented
        return constexpr(function(self.value, unwrap(other)))

    def backward(self: constexpr, other: Any) -> Any:
        if type(other) is tensor:
            return NotImplemented
        return constexpr(function(unwrap(other), self.value))

    setattr(constexpr, f"__{name}__", forward)
    if name not in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(constexpr, f"__r{name}__", backward)


for _name in [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "lshift",
    "rshift",
    "and",
    "or",
    "xor",
    "lt",
    "le",
    "gt",
    "ge",
    "eq",
    "ne",
]:
    _constexpr_operator(_name, getattr(operator, f"__{_name}__"))
for _name in ("neg", "pos", "invert"):
    setattr(
        constexpr,
        f"__{_name}__",
        lambda self, function=getattr(operator, _name): constexpr(function(self.value)),
    )


# -- types ----------------------------------------------------------------------------------------

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


class pointer_type(dtype):
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

    def __reduce__(self) -> Any:
        return (pointer_type, (self.element_ty, self.address_space, self.const))

    def is_ptr(self) -> bool:
        return True

    def is_const(self) -> bool:
        return self.const

    def __eq__(self, other: Any) -> Any:
        other = unwrap(other)
        return (
            isinstance(other, pointer_type)
            and self.element_ty == other.element_ty
            and self.address_space == other.address_space
            and self.const == other.const
        )

    def __ne__(self, other: Any) -> Any:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.name, self.address_space))

    def __repr__(self) -> str:
        return self.name


class block_type(dtype):
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

    def __reduce__(self) -> Any:
        return (block_type, (self.element_ty, self._shape))

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

    def __eq__(self, other: Any) -> Any:
        other = unwrap(other)
        return (
            isinstance(other, block_type)
            and self.element_ty == other.element_ty
            and self._shape == other._shape
        )

    def __ne__(self, other: Any) -> Any:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return self.name


class tuple_type(dtype):
    """The types of a tuple's items, maybe with field names."""

    def __init__(self, types: Iterable[Any], fields: Any = None) -> None:
        self.types = builtins.list(types)
        self.fields = fields or [""] * len(self.types)
        self.name = (
            "[" + ",".join(f"{f}:{t}" for f, t in zip(self.fields, self.types, strict=True)) + "]"
        )

    @staticmethod
    def is_tuple() -> bool:
        return True

    def __getitem__(self, index: Any) -> Any:
        return self.types[unwrap(index)]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.types)

    def __eq__(self, other: Any) -> Any:
        return type(other) is tuple_type and (self.types, self.fields) == (
            other.types,
            other.fields,
        )

    def __ne__(self, other: Any) -> Any:
        return not self == other

    def __hash__(self) -> int:
        return hash(builtins.tuple(self.types))

    def __repr__(self) -> str:
        return self.name


class constexpr_type(dtype):
    """The type of a constexpr: its value."""

    def __init__(self, value: Any) -> None:
        self.value = unwrap(value)
        self.name = f"constexpr[{self.value}]"

    def __eq__(self, other: Any) -> Any:
        return type(other) is constexpr_type and self.value == other.value

    def __ne__(self, other: Any) -> Any:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return self.name


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


# -- tuple ----------------------------------------------------------------------------------------


class tuple(builtins.tuple):
    """A tuple in a kernel, maybe with named fields."""

    _fields: Any = None

    def __new__(cls, items: Iterable[Any] = (), fields: Any = None) -> Any:
        self = builtins.tuple.__new__(cls, items)
        if fields is not None:
            self._fields = builtins.tuple(fields)
        return self

    @classmethod
    def from_named(cls, value: Any) -> tuple:
        """Return a NamedTuple's values under its field names."""
        return cls(value, getattr(type(value), "_fields", None))

    @staticmethod
    def like(value: Any, items: Iterable[Any]) -> Any:
        """Return ``items`` in a tuple of the kind of ``value``, with its field names."""
        if isinstance(value, tuple):
            return value._with(items)
        return tuple(items, getattr(type(value), "_fields", None))

    def _with(self, items: Iterable[Any]) -> Any:
        return tuple(items, self._fields)

    def map(self, fn: Callable[[Any], Any]) -> Any:
        """Apply ``fn`` to every item and keep the kind of the tuple."""
        return self._with([fn(item) for item in self])

    @property
    def values(self) -> builtins.list[Any]:
        return builtins.list(self)

    @property
    def type(self) -> tuple_type:
        return tuple_type(
            [getattr(item, "type", constexpr_type(item)) for item in self], self._fields
        )

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__") and self._fields and name in self._fields:
            return self[self._fields.index(name)]
        raise AttributeError(f"a tuple in a kernel has no attribute '{name}'")

    def __getitem__(self, key: Any) -> Any:
        key = unwrap(key)
        if isinstance(key, slice):
            key = slice(unwrap(key.start), unwrap(key.stop), unwrap(key.step))
            return tuple(builtins.tuple.__getitem__(self, key))
        if isinstance(key, tensor):
            raise TypeError("the index of a tuple must be constant, found a tensor")
        return builtins.tuple.__getitem__(self, key)

    def __add__(self, other: Any) -> Any:
        return tuple(builtins.tuple.__add__(self, builtins.tuple(unwrap(other))))

    def __radd__(self, other: Any) -> Any:
        return tuple(builtins.tuple(unwrap(other)) + builtins.tuple(self))

    def __mul__(self, count: Any) -> Any:
        return tuple(builtins.tuple.__mul__(self, int(unwrap(count))))

    __rmul__ = __mul__

    def __hash__(self) -> int:
        return builtins.tuple.__hash__(self)

    def __eq__(self, other: Any) -> Any:
        other = unwrap(other)
        if not isinstance(other, builtins.tuple | builtins.list):
            return constexpr(False)
        if len(self) != len(other):
            return constexpr(False)
        result: Any = constexpr(True)
        for left, right in zip(self, other, strict=True):
            same = left == right
            if isinstance(same, tensor):
                result = same if isinstance(result, constexpr) else result & same
            elif not same:
                return constexpr(False)
        return result

    def __ne__(self, other: Any) -> Any:
        same = self == other
        return same.logical_not()


# -- tensors --------------------------------------------------------------------------------------


@builtin
def to_tensor(x: Any) -> Any:
    """Return a tensor as it is, and a number as a scalar tensor of its literal type."""
    return _semantic.to_tensor(x)


def shape_of(shape: Any, op: str) -> builtins.list[int]:
    """Return the sizes that were given one by one or as one tuple."""
    if len(shape) == 1:
        first = unwrap(shape[0])
        if isinstance(first, Iterable):
            shape = first
    sizes = []
    for size in shape:
        size = unwrap(size)
        if isinstance(size, tensor):
            if not size._is_stepped:
                raise TypeError(f"{op}: a size is known only at run time, expected constexpr")
            raise TypeError(f"{op}: a size is a tensor, expected constexpr")
        if not isinstance(size, int):
            raise TypeError(f"{op}: a size is {size!r}, expected a constant integer")
        sizes.append(size)
    return sizes


def tensor_numpy(x: Any) -> Any:
    """Return the elements of a stepped tensor as a NumPy array (a copy).

    bfloat16 and fp8 need ml_dtypes; without it they come as float32. Pointers come as uint64.
    """
    import numpy

    raw, element = x._bytes(), x.dtype
    shape = [size.value for size in x.shape]
    if element.is_ptr():
        return numpy.frombuffer(raw, numpy.uint64).reshape(shape).copy()
    names = {"int1": "bool", "fp16": "float16", "fp32": "float32", "fp64": "float64"}
    if element.name in names or element.is_int():
        kind = numpy.dtype(names.get(element.name, element.name))
        return numpy.frombuffer(raw, kind).reshape(shape).copy()
    small = {
        "bf16": "bfloat16",
        "fp8e5": "float8_e5m2",
        "fp8e4nv": "float8_e4m3fn",
        "fp8e4b8": "float8_e4m3fnuz",
        "fp8e5b16": "float8_e5m2fnuz",
    }
    try:
        import ml_dtypes

        kind = numpy.dtype(getattr(ml_dtypes, small[element.name]))
        return numpy.frombuffer(raw, kind).reshape(shape).copy()
    except (ImportError, KeyError):
        return tensor_numpy(x.to(float32))


def tensor_repr(x: Any) -> str:
    """Return dtype, shape and values of a stepped tensor."""
    import numpy

    array = tensor_numpy(x)
    if x.dtype.is_ptr():
        text = numpy.array2string(array, formatter={"int": hex}, threshold=64)
    else:
        if array.dtype.kind == "V" or array.dtype.name not in numpy.sctypeDict:
            array = array.astype(numpy.float32)
        text = numpy.array2string(array, threshold=64)
    if not x.type.is_block():
        return f"{x.dtype}: {text}"
    shape = ", ".join(str(size) for size in x.shape)
    return f"{x.dtype}[{shape}]: {text}"


CONSTEXPR_0 = constexpr(0)  # public kernels use Triton's name for it

tensor.numpy = tensor_numpy
tensor.cpu = lambda self: self
tensor.__module__ = "blockscope.language.core"
tensor.__blockscope_builtin__ = True


def __getattr__(name: str) -> Any:
    """``tl.core`` has all of the language, as in Triton."""
    from blockscope import language

    if name.startswith("__") or not hasattr(language, name):
        raise AttributeError(f"module 'blockscope.language.core' has no attribute '{name}'")
    return getattr(language, name)
