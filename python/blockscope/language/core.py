"""Values of the language: tensor, tuple, and with them its types and constexpr.

All other modules build on this one.
"""

from __future__ import annotations

import builtins
import enum
import functools
import inspect
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, TypeVar

from blockscope import _core
from blockscope._core import semantic as _semantic
from blockscope.language import context, users_semantic
from blockscope.language.constexpr_value import _unwrap_if_constexpr, constexpr, tensor, unwrap
from blockscope.language.types import (
    bfloat16,
    block_type,
    const,
    constexpr_type,
    dtype,
    float8e4b8,
    float8e4b15,
    float8e4nv,
    float8e5,
    float8e5b16,
    float16,
    float32,
    float64,
    get_int_dtype,
    int1,
    int8,
    int16,
    int32,
    int64,
    pi32_t,
    pointer_type,
    tuple_type,
    uint8,
    uint16,
    uint32,
    uint64,
    void,
)

__all__ = [
    "TRITON_MAX_TENSOR_NUMEL",
    "PropagateNan",
    "_unwrap_if_constexpr",
    "bfloat16",
    "block_type",
    "builtin",
    "const",
    "constexpr",
    "constexpr_type",
    "dtype",
    "float8e4b8",
    "float8e4b15",
    "float8e4nv",
    "float8e5",
    "float8e5b16",
    "float16",
    "float32",
    "float64",
    "get_int_dtype",
    "int1",
    "int8",
    "int16",
    "int32",
    "int64",
    "is_builtin",
    "must_use_result",
    "pi32_t",
    "pointer_type",
    "tensor",
    "tensor_method",
    "to_tensor",
    "tuple",
    "tuple_type",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unwrap",
    "void",
]

F = TypeVar("F", bound=Callable[..., Any])

#: The largest number of elements of a block.
TRITON_MAX_TENSOR_NUMEL = 1048576


def builtin(fn: F) -> F:
    """Mark a function that kernels may call. One of the language takes the keywords that Triton's
    builtins take from each other, and ignores them."""
    if not inspect.isfunction(fn) or not fn.__module__.startswith("blockscope."):
        if inspect.isfunction(fn) and users_semantic.takes_semantic(fn):
            fn = _given_semantic(fn)
        fn.__blockscope_builtin__ = True  # type: ignore[attr-defined]
        return fn

    function: Any = functools.update_wrapper(_core.LanguageFunction(fn), fn)
    function.__blockscope_builtin__ = True
    return function


def _given_semantic(fn: F) -> F:
    """A builtin of the user, which gets what Triton's compiler would hand to it."""

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("_semantic") is None and context.current() is not None:
            kwargs["_semantic"] = users_semantic.USERS_SEMANTIC
        return fn(*args, **kwargs)

    return call  # type: ignore[return-value]


def is_builtin(fn: Any) -> bool:
    return getattr(fn, "__blockscope_builtin__", False)


def tensor_method(fn: F) -> F:
    """Mark a function that kernels may call, also as a method of tensor."""
    marked = builtin(fn)
    setattr(tensor, fn.__name__, marked)
    return marked


class PropagateNan(enum.Enum):
    """What minimum, maximum and clamp give for a NaN: the other operand, or NaN."""

    NONE = 0
    ALL = 0xFFFF


def type_of(value: Any) -> Any:
    """The type of a value in a kernel."""
    return (
        constexpr_type(value)
        if isinstance(value, constexpr)
        else getattr(value, "type", constexpr_type(value))
    )


def must_use_result(x: Any, s: bool | str = True) -> Any:
    """Decorator, with or without a message: a kernel that drops the result does not compile."""
    if isinstance(x, str):
        return lambda fn: must_use_result(fn, x)
    x._must_use_result = s
    return x


# -- tuple ----------------------------------------------------------------------------------------


class tuple(builtins.tuple):
    """A tuple in a kernel, maybe with named fields. A field's name cannot begin with an underscore,
    so what else there is does, but for what Triton's tuples have: those names are no fields."""

    _fields: Any = None
    #: What a kind of tuple consists of beside its items.
    _constants: Any = None

    def __new__(cls, items: Iterable[Any] = (), fields: Any = None) -> Any:
        self = builtins.tuple.__new__(cls, items)
        if fields is not None:
            self._fields = builtins.tuple(fields)
        return self

    @classmethod
    def _from_named(cls, value: Any) -> tuple:
        """Return a NamedTuple's values under its field names."""
        return cls(value, getattr(type(value), "_fields", None))

    @staticmethod
    def _like(value: Any, items: Iterable[Any]) -> Any:
        """Return ``items`` in a tuple of the kind of ``value``, with its field names."""
        if isinstance(value, tuple):
            return value._with(items)
        return tuple(items, getattr(type(value), "_fields", None))

    def _with(self, items: Iterable[Any]) -> Any:
        return tuple(items, self._fields)

    def _map(self, fn: Callable[[Any], Any]) -> Any:
        """Apply ``fn`` to every item and keep the kind of the tuple."""
        return self._with([fn(item) for item in self])

    @property
    def values(self) -> builtins.list[Any]:
        return builtins.list(self)

    @property
    def type(self) -> tuple_type:
        return tuple_type([type_of(item) for item in self], self._fields)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__") and self._fields and name in self._fields:
            return self[self._fields.index(name)]
        raise AttributeError(f"a tuple in a kernel has no attribute '{name}'")

    # Methods of Python's tuples, which Triton's do not have: fields may be called so.
    count: Any = property(lambda self: self.__getattr__("count"))
    index: Any = property(lambda self: self.__getattr__("index"))

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


#: What texts of errors say is expected; ``intOf`` of python/src/operands.cpp says the same.
CONSTANT_INTEGER = "a constant integer (an int, or a name annotated tl.constexpr)"


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
            raise TypeError(f"{op}: a size is a tensor of {size.type}, expected {CONSTANT_INTEGER}")
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

    if x.dtype.is_ptr() and not _semantic.is_stepping():
        return f"{x.type} of a kernel that has ended"
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


_language: Any = None  # the package, once all of it is there


_names_of_triton: dict[str, ModuleType] = {}


def set_language(package: ModuleType, names_of_triton: ModuleType) -> None:
    """Let this module have all of the language, as Triton's ``tl.core`` does, and what that has
    besides."""
    global _language
    _language = users_semantic.language = package
    _names_of_triton.update(dict.fromkeys(names_of_triton.__all__, names_of_triton))


def __getattr__(name: str) -> Any:
    if name == "extern":
        return builtin
    if name == "extern_elementwise" and _language is not None:
        return _language.extra.libdevice.extern_elementwise
    if name in _names_of_triton:
        return getattr(_names_of_triton[name], name)
    if name.startswith("__") or not hasattr(_language, name):
        raise AttributeError(f"module 'blockscope.language.core' has no attribute '{name}'")
    return getattr(_language, name)
