"""Aggregates: classes of the user's whose fields are values of a kernel."""

from __future__ import annotations

import builtins
import inspect
import sys
import types
import typing
from collections.abc import Callable
from typing import Any, ClassVar

from blockscope.language import core
from blockscope.language.core import builtin, constexpr, unwrap
from blockscope.language.types import compound_type
from blockscope.signatures import annotations_of


class aggregate_value:
    """The base of all classes that ``@triton.aggregate`` makes."""

    #: name -> annotation, those of the bases first
    _field_types: ClassVar[dict[str, Any]] = {}
    _is_built = False

    def __setattr__(self, name: str, value: Any) -> None:
        if self._is_built:
            raise AttributeError(
                f"cannot assign to field '{name}' on immutable aggregate "
                f"'{type(self).__name__}': make another one with tl.aggregate_replace"
            )
        if name not in self._field_types:
            raise AttributeError(f"aggregate '{type(self).__name__}' has no field '{name}'")
        object.__setattr__(self, name, _fitting(type(self), name, value))

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"cannot delete '{name}' of aggregate '{type(self).__name__}'")

    @property
    def values(self) -> builtins.list[Any]:
        """The fields' values in the order of the fields."""
        return [self.__dict__[name] for name in self._field_types]

    @property
    def type(self) -> aggregate_type:
        return aggregate_type(type(self), [core.type_of(value) for value in self.values])

    def _map(self, fn: Callable[[Any], Any]) -> Any:
        """Return an aggregate of this class with ``fn`` of every field."""
        return _build(type(self), {n: fn(self.__dict__[n]) for n in self._field_types})

    def __eq__(self, other: Any) -> Any:
        return type(other) is type(self) and all(
            a is b or (isinstance(a, constexpr | core.tuple | aggregate_value) and bool(a == b))
            for a, b in zip(self.values, other.values, strict=True)
        )

    def __hash__(self) -> int:
        return hash((type(self), *(unwrap(value) for value in self.values)))

    def __repr__(self) -> str:
        fields = ", ".join(f"{n}={self.__dict__.get(n)!r}" for n in self._field_types)
        return f"{type(self).__name__}({fields})"


class aggregate_type(compound_type):
    """The types of an aggregate's fields."""

    def __init__(self, cls: builtins.type, types: builtins.list[Any]) -> None:
        self.base_type = cls
        self.types = types
        names = cls._field_types  # type: ignore[attr-defined]
        self.fields = builtins.list(zip(names, types, strict=True))
        self.name = f"{cls.__name__}<{', '.join(f'{n}: {t}' for n, t in self.fields)}>"

    def _parts(self) -> Any:
        return (self.base_type, builtins.tuple(self.types))


def _build(cls: builtins.type, fields: dict[str, Any]) -> Any:
    self: Any = object.__new__(cls)
    self.__dict__.update(fields)
    self.__dict__["_is_built"] = True
    return self


def _fitting(cls: builtins.type, name: str, value: Any) -> Any:
    """``value`` as the field's annotation has it.

    Errors: TypeError where it is of another type.
    """
    expected = cls._field_types[name]  # type: ignore[attr-defined]
    if expected is constexpr and not isinstance(value, constexpr):
        if isinstance(value, core.tensor):
            raise TypeError(
                f"{cls.__name__}: field '{name}' is constexpr, found {value.type}, which is known "
                "only at run time"
            )
        return constexpr(value)
    if isinstance(value, builtins.tuple | builtins.list) and not isinstance(value, core.tuple):
        value = core.tuple(
            [_in_tuple(item) for item in value], getattr(type(value), "_fields", None)
        )
    classes = typing.get_args(expected) if _is_union(expected) else (expected,)
    if expected is core.tensor and isinstance(unwrap(value), bool | int | float):
        return core.to_tensor(value)
    is_checked = all(isinstance(one, builtins.type) and one is not Any for one in classes)
    if is_checked and not isinstance(value, classes):
        found = getattr(value, "type", None) or type(value).__name__
        names = " or ".join(one.__name__ for one in classes)
        raise TypeError(f"{cls.__name__}: expected {names} for field '{name}', found {found}")
    return value


def _is_union(annotation: Any) -> bool:
    return typing.get_origin(annotation) in (typing.Union, types.UnionType)


def _in_tuple(value: Any) -> Any:
    if isinstance(value, builtins.tuple) and not isinstance(value, core.tuple):
        return core.tuple([_in_tuple(v) for v in value], getattr(type(value), "_fields", None))
    is_plain = isinstance(value, bool | int | float | str) or value is None
    return constexpr(value) if is_plain else value


class _Method:
    """A @jit or constexpr function in the body of an aggregate, which binds as methods do."""

    def __init__(self, fn: Any) -> None:
        self.fn = fn

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self.fn if instance is None else types.MethodType(self.fn, instance)


def aggregate(cls: builtins.type) -> Any:
    """Make a class a value type of kernels: its annotated fields are values of the kernel.

    Fields are given when an aggregate is made, in order or by name, or assigned by an ``__init__``
    of the class; then they stay. Annotations are ``tl.tensor``, ``tl.constexpr`` (numbers and other
    Python values), ``tl.tuple``, other aggregates and other types of the language. Methods may be
    @jit functions, constexpr functions or Python functions that call the language.

    Errors: TypeError for a base that is no aggregate, ValueError for an ``__init__`` by @jit.
    """
    for base in cls.__bases__:
        if base is not object and not issubclass(base, aggregate_value):
            raise TypeError(
                f"Aggregates can only inherit from other aggregates: base '{base.__name__}' of "
                f"'{cls.__name__}' is none"
            )
    if hasattr(cls.__dict__.get("__init__"), "arg_names"):
        raise ValueError(
            f"{cls.__name__}.__init__ cannot be a @triton.jit function: write it as a Python "
            "function, which may call the language"
        )
    field_types: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        field_types.update(base.__dict__.get("_field_types", {}))
    field_types.update(_annotations(cls, sys._getframe(1)))
    defaults: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        defaults.update(base.__dict__.get("_defaults", {}))
    defaults.update({n: cls.__dict__[n] for n in field_types if n in cls.__dict__})
    body = {
        name: _member(value)
        for name, value in cls.__dict__.items()
        if name not in ("__dict__", "__weakref__") and name not in field_types
    }
    body.update(_field_types=field_types, _defaults=defaults, __blockscope_builtin__=True)
    bases = cls.__bases__ if cls.__bases__ != (object,) else (aggregate_value,)
    made = type(cls)(cls.__name__, bases, body)
    own_init = cls.__dict__.get("__init__") or _inherited_init(cls)
    own_init = getattr(own_init, "fn", own_init)  # of a constexpr function
    made.__init__ = _initializer(made, own_init)  # type: ignore[misc]
    _repoint_class_cells(body.values(), cls, made)
    return made


def _inherited_init(cls: builtins.type) -> Any:
    """The ``__init__`` that the user wrote in a base, unless the class has fields of its own."""
    init = getattr(cls, "__init__", None)
    written = getattr(init, "_written", None)
    return None if annotations_of(cls) else written


def _initializer(cls: builtins.type, own: Any) -> Any:
    field_types = cls._field_types  # type: ignore[attr-defined]
    defaults = cls._defaults  # type: ignore[attr-defined]

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if own is not None:
            own(self, *args, **kwargs)
        else:
            _assign_fields(self, args, kwargs)
        if type(self) is not cls:
            return  # called by the __init__ of a subclass
        missing = [name for name in field_types if name not in self.__dict__]
        for name in missing:
            if name not in defaults:
                raise AttributeError(
                    f"constructor for {cls.__name__} did not initialize attribute '{name}'"
                )
            setattr(self, name, defaults[name])
        object.__setattr__(self, "_is_built", True)

    def _assign_fields(self: Any, args: builtins.tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if len(args) > len(field_types):
            raise TypeError(
                f"{cls.__name__} takes {len(field_types)} fields ({', '.join(field_types)}), "
                f"found {len(args)} values"
            )
        given = dict(zip(field_types, args, strict=False))
        for name, value in kwargs.items():
            if name in given:
                raise TypeError(f"{cls.__name__}: two values for field '{name}'")
            if name not in field_types:
                raise TypeError(f"{cls.__name__} has no field '{name}'")
            given[name] = value
        for name in field_types:
            if name not in given and name not in defaults:
                raise TypeError(f"{cls.__name__}: missing a value for field '{name}'")
            setattr(self, name, given[name] if name in given else defaults[name])
        after = getattr(self, "__post_init__", None)
        if after is not None:
            after()

    __init__._written = own  # type: ignore[attr-defined]
    return __init__


def _member(value: Any) -> Any:
    """What stands in the body of an aggregate, as its class has it."""
    if _is_kernel_function(value):
        return _Method(value)
    plain = value.__func__ if isinstance(value, staticmethod | classmethod) else value
    if inspect.isfunction(plain):
        builtin(plain)
    return value


def _is_kernel_function(value: Any) -> bool:
    """Whether it is a function that @jit or @constexpr_function made, which bind nothing."""
    return callable(value) and hasattr(value, "fn") and not hasattr(type(value), "__get__")


def _repoint_class_cells(members: Any, old: builtins.type, new: builtins.type) -> None:
    """Let super() and __class__ of methods mean the class that was made."""
    for member in members:
        inner = getattr(member, "__func__", getattr(member, "fn", member))
        inner = getattr(inner, "fn", inner)
        for cell in getattr(inner, "__closure__", None) or ():
            try:
                if cell.cell_contents is old:
                    cell.cell_contents = new
            except ValueError:  # not filled yet
                continue


def _annotations(cls: builtins.type, caller: types.FrameType) -> dict[str, Any]:
    """The annotations of the class; strings are looked up where the class stands.

    What cannot be looked up fits every value.
    """
    scope = dict(vars(sys.modules.get(cls.__module__, builtins)))
    found = {}
    for name, annotation in annotations_of(cls).items():
        while isinstance(annotation, str):
            try:
                annotation = eval(annotation, scope, dict(caller.f_locals))
            except Exception:
                annotation = Any
        found[name] = annotation
    return found


@builtin
def aggregate_replace(obj: Any, **changes: Any) -> Any:
    """A copy of an aggregate with other values in the fields that are named."""
    value = unwrap(obj)
    if not isinstance(value, aggregate_value):
        raise TypeError(
            f"aggregate_replace expects an aggregate instance, found {type(value).__name__}"
        )
    cls = type(value)
    fields = {name: value.__dict__[name] for name in cls._field_types}
    for name, changed in changes.items():
        if name not in fields:
            raise TypeError(f"aggregate '{cls.__name__}' has no field '{name}'")
        fields[name] = _fitting(cls, name, changed)
    return _build(cls, fields)


__all__ = ["aggregate_replace"]
