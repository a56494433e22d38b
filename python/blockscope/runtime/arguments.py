"""The arguments of a launch: bound to the kernel's parameters, then classified."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Sequence
from typing import Any

from blockscope import _core
from blockscope.frontend.argument import Argument
from blockscope.frontend.kernel_function import KernelFunction
from blockscope.language import core
from blockscope.language.descriptor import tensor_descriptor
from blockscope.runtime import key
from blockscope.runtime.memory.buffer import Memory, is_tensor
from blockscope.runtime.options import LAUNCH_OPTIONS
from blockscope.runtime.tensors import MockNumber

_INT_RANGES = (
    (core.int32, -(2**31), 2**31),
    (core.int64, -(2**63), 2**63),
    (core.uint64, 0, 2**64),
)


def take_options(fn: KernelFunction, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Move the options of a launch out of its keyword arguments."""
    names = fn.arg_names
    return {k: kwargs.pop(k) for k in list(kwargs) if k in LAUNCH_OPTIONS and k not in names}


def add_named_options(fn: Any, bound: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """``options``, and what else are some: the ``debug`` of ``@jit``, and constexpr parameters that
    are called as one, ``num_stages`` for example, which are both."""
    both = [p.name for p in fn.params if p.is_constexpr and p.name in LAUNCH_OPTIONS]
    values = {name: getattr(bound[name], "value", bound[name]) for name in both}
    of_jit = {} if fn.debug is None else {"debug": fn.debug}
    return of_jit | {name: value for name, value in values.items() if value is not None} | options


class AskedArguments(dict[str, Any]):
    """The arguments that a grid, or a rule of ``heuristics``, asks for by name."""

    def __init__(self, asks: str, fn: Any, given: dict[str, Any]) -> None:
        super().__init__(given)
        self._asks, self._fn = asks, fn

    def __missing__(self, name: str) -> Any:
        raise KeyError(
            f"{self._asks} of kernel '{self._fn.__name__}' asks for '{name}', which is no argument "
            f"of the launch ({parameters_text(self._fn.arg_names, name)}"
        )


def parameters_text(names: Sequence[str], misspelt: str) -> str:
    """``parameters: a, b); did you mean 'a'?``: the names there are, and the nearest."""
    known = {name.lower(): name for name in (*LAUNCH_OPTIONS, *names)}
    near = difflib.get_close_matches(misspelt.lower(), known, 1)
    hint = f"; did you mean '{known[near[0]]}'?" if near else ""
    return f"parameters: {', '.join(names)}){hint}"


def bind(fn: KernelFunction, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The value of each parameter, defaults filled in.

    Errors: KeyError for an unknown keyword, TypeError for a missing or a surplus argument.
    """
    unknown = [name for name in kwargs if name not in fn.arg_names]
    if unknown:
        raise KeyError(
            f"keyword argument '{unknown[0]}' was given to kernel '{fn.__name__}', which has no "
            f"such parameter or option ({parameters_text(fn.arg_names, unknown[0])}"
        )
    takes_any = any(param.is_variadic for param in fn.params)
    if len(args) > len(fn.arg_names) and not takes_any:
        raise TypeError(
            f"kernel '{fn.__name__}': too many positional arguments: {len(args)} were given to "
            f"{len(fn.arg_names)} parameters ({', '.join(fn.arg_names)})"
        )
    try:
        bound = fn.signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"kernel '{fn.__name__}': {error}") from None
    bound.apply_defaults()
    return dict(bound.arguments)


def classify(fn: KernelFunction, bound: dict[str, Any], memory: Memory) -> list[Argument]:
    """The arguments as the kernel is compiled for them and takes them.

    Errors: TypeError, ValueError or OverflowError that name the argument.
    """
    return [_classify(param, bound[param.name], memory) for param in fn.params]


def _classify(param: Any, value: Any, memory: Memory) -> Argument:
    if param.is_constexpr:
        return _constexpr(param, value)
    return _run_time(param, param.name, value, memory)


def _constexpr(param: Any, value: Any) -> Argument:
    if isinstance(value, core.constexpr):
        value = value.value
    if is_tensor(value) and not isinstance(value, KernelFunction):
        raise TypeError(f"argument '{param.name}' is constexpr and cannot be a tensor")
    return Argument(param.name, value, key.of_constant(value))


def _run_time(param: Any, name: str, value: Any, memory: Memory) -> Argument:
    if isinstance(value, core.constexpr):  # stays a constant, also inside of a tuple
        return Argument(name, value.value, key.of_constant(value.value))
    kind = type(value)
    if value is None or isinstance(value, core.dtype | KernelFunction) or kind is str:
        return Argument(name, value, key.of_constant(value))
    if isinstance(value, tuple | core.tuple):
        return _tuple(param, name, value, memory)
    if isinstance(value, int | float) or _is_number(value):
        if param.type is not None and param.type.is_ptr():
            raise _not_as_annotated(param, name, f"the number {value}", "a tensor")
        return _number(param, name, value, param.type)
    if hasattr(value, "block_shape") and hasattr(value, "base"):
        return _descriptor(param, name, value, memory)
    if is_tensor(value):
        return _tensor(param, name, value, memory)
    if isinstance(value, MockNumber):
        return Argument(name, value.value, key.of_number(value.dtype), value.dtype)
    raise TypeError(
        f"argument '{name}' is a {kind.__module__}.{kind.__qualname__}; expected a tensor (an "
        "object with data_ptr() and dtype, __array_interface__ or DLPack), a number, a tuple or "
        "None"
    )


def _tensor(param: Any, name: str, value: Any, memory: Memory) -> Argument:
    buffer = memory.describe(value, name)
    pointer = param.type or _pointer_to(buffer.dtype, param.is_const)
    if not pointer.is_ptr():
        raise _not_as_annotated(param, name, f"a {buffer.dtype} tensor", "a number")
    of_tensor = key.of_tensor(buffer.dtype, param.is_const)
    return Argument(name, value, of_tensor, pointer, buffer=buffer)


@functools.cache
def _pointer_to(dtype: str, is_const: bool) -> Any:
    return core.pointer_type(getattr(core, dtype), 1, is_const)


def _is_number(value: Any) -> bool:
    """Whether it is a number of NumPy's; an array without dimensions is memory, as of torch."""
    return (
        type(value).__module__ == "numpy"
        and type(value).__name__ != "ndarray"
        and hasattr(value, "item")
        and getattr(value, "shape", None) == ()
    )


def _not_as_annotated(param: Any, name: str, found: str, expected: str) -> TypeError:
    return TypeError(
        f"argument '{name}' is {found}; expected {expected}, since the parameter is annotated "
        f"'{param.annotation}'"
    )


def _number(param: Any, name: str, value: Any, fixed: Any) -> Argument:
    if _is_number(value):
        value = value.item()
    elif isinstance(value, int) and type(value) is not bool:
        value = int.__index__(value)  # of a subclass, such as IntEnum, the plain number
    elif isinstance(value, float):
        value = float.__float__(value)
    if isinstance(value, bool):
        dtype = fixed or core.int1
    elif isinstance(value, int):
        if value == 1 and not param.do_not_specialize and fixed is None:
            return _one(name)
        dtype = fixed or next((t for t, low, high in _INT_RANGES if low <= value < high), None)
        if dtype is None:
            raise OverflowError(f"argument '{name}' is {value}, which does not fit 64 bits")
    else:
        dtype = fixed or core.float32
    try:
        bits = _core.scalar_bits(dtype, value)
    except (ValueError, OverflowError, TypeError) as error:
        raise type(error)(f"argument '{name}': {error}") from None
    return Argument(name, value, key.of_number(dtype), dtype, bits)


def _one(name: str) -> Argument:
    """A 1 is compiled in."""
    return Argument(name, 1, key.of_constant(1))


def _tuple(param: Any, name: str, value: Any, memory: Memory) -> Argument:
    parts = [_run_time(param, f"{name}.{i}", item, memory) for i, item in enumerate(value)]
    of_tuple = key.of_tuple(type(value), getattr(value, "_fields", None), parts)
    return Argument(name, value, of_tuple, parts=parts)


def _descriptor(param: Any, name: str, value: Any, memory: Memory) -> Argument:
    """A TensorDescriptor: its tensor, shape and strides at run time, its block shape, padding,
    rounding and a last stride of 1 as constants."""
    block = [int(size) for size in value.block_shape]
    padding = getattr(value, "padding", None) or "zero"
    rounds = bool(getattr(value, "round_f32_to_tf32", False))
    base = _run_time(param, name, value.base, memory)
    if base.buffer is None:
        raise TypeError(f"argument '{name}': the descriptor's base is no tensor")
    parts = [base]
    for axis, size in enumerate(value.shape):
        parts.append(_number(param, f"{name}.shape[{axis}]", int(size), core.int32))
    for axis, stride in enumerate(value.strides):
        part = f"{name}.strides[{axis}]"
        is_one = axis == len(block) - 1 and int(stride) == 1
        parts.append(_one(part) if is_one else _number(param, part, int(stride), core.int64))
    template = tensor_descriptor.make((), block, padding, rounds)
    return Argument(name, template, key.of_descriptor(block, padding, rounds, parts), parts=parts)
