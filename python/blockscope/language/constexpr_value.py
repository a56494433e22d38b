"""Values known when a kernel is compiled."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

from blockscope import _core

tensor = _core.tensor


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

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        import numpy  # so that its functions take constants

        return numpy.asarray(self.value, dtype)

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

    def __reduce__(self) -> Any:
        return (constexpr, (self.value,))

    def __abs__(self) -> constexpr:
        return constexpr(abs(self.value))

    def __round__(self, digits: Any = None) -> constexpr:
        return constexpr(round(self.value, unwrap(digits)))

    def logical_and(self, other: Any) -> constexpr:
        return constexpr(self.value and unwrap(other))

    def logical_or(self, other: Any) -> constexpr:
        return constexpr(self.value or unwrap(other))

    def logical_not(self) -> constexpr:
        return constexpr(not self.value)


def _beside_tensor(value: Any, name: str) -> Any:
    """The operators of tensors take numbers. Errors: TypeError for a str."""
    if isinstance(value, str) and name not in ("eq", "ne"):
        raise TypeError(
            f"the str {value!r} cannot be an operand beside a tensor: an argument that is a str is "
            "a constant of the kernel; pass a tensor or a number"
        )
    return NotImplemented


def _constexpr_operator(name: str, function: Callable[[Any, Any], Any]) -> None:
    def forward(self: constexpr, other: Any) -> Any:
        if type(other) is tensor:
            return _beside_tensor(self.value, name)
        return constexpr(function(self.value, unwrap(other)))

    def backward(self: constexpr, other: Any) -> Any:
        if type(other) is tensor:
            return _beside_tensor(self.value, name)
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
