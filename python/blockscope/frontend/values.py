"""What a name in a kernel can stand for: a run-time tensor, or something known when compiling."""

from collections.abc import Callable, Iterator
from typing import Any

from blockscope.language import core
from blockscope.language.aggregate import aggregate_value


def is_tensor(value: Any) -> bool:
    """Whether the value is only known at run time."""
    return isinstance(value, core.tensor)


def unwrap(value: Any) -> Any:
    """Return the Python value inside a constexpr, anything else as it is."""
    return value.value if isinstance(value, core.constexpr) else value


def decay(value: Any) -> Any:
    """A number assigned to a plain name becomes a tensor, in tuples too; all else stays.

    The fields of an aggregate are what they are annotated to be.
    """
    if isinstance(value, core.tuple):
        return map_tuple(decay, value)
    plain = unwrap(value)
    if isinstance(plain, bool | int | float):
        return core.to_tensor(plain)
    return plain if isinstance(plain, str) else value


def map_tuple(fn: Callable[[Any], Any], value: Any) -> Any:
    """Apply ``fn`` to the elements and keep the kind of the tuple or aggregate."""
    return value._map(fn) if hasattr(value, "_map") else core.tuple([fn(item) for item in value])


def parts(value: Any) -> Any:
    """The values that a tuple or an aggregate is made of; None for others."""
    if isinstance(value, core.tuple):
        return value
    return value.values if isinstance(value, aggregate_value) else None


def flatten(value: Any) -> Iterator[Any]:
    """The tensors of a value, those inside tuples and aggregates in order."""
    items = parts(value)
    if items is not None:
        for item in items:
            yield from flatten(item)
    elif is_tensor(value):
        yield value


def rebuild(value: Any, tensors: Iterator[Any]) -> Any:
    """Return ``value`` with its tensors replaced, in the order of ``flatten``."""
    if parts(value) is not None:
        return map_tuple(lambda item: rebuild(item, tensors), value)
    return next(tensors) if is_tensor(value) else value


def structure(value: Any) -> Any:
    """What must stay equal through a loop and in both arms of an 'if': types, static values."""
    items = parts(value)
    if items is not None:
        kind = type(value) if isinstance(value, aggregate_value) else value._constants
        return (kind, *(structure(item) for item in items))
    if is_tensor(value):
        return str(value.type)
    return repr(unwrap(value))


def must_use(fn: Any, name: str) -> str | None:
    """What is wrong with dropping the result of ``fn``, or None (``triton.must_use_result``)."""
    why = getattr(fn, "_must_use_result", False)
    if not why:
        return None
    return f"The result of {name} is not being used." + (f" {why}" if isinstance(why, str) else "")


def logical_not(value: Any) -> Any:
    if is_tensor(value):
        return core.to_tensor(value).logical_not()
    return core.constexpr(not unwrap(value))


def logical_and(lhs: Any, rhs: Any) -> Any:
    return core.to_tensor(lhs).logical_and(core.to_tensor(unwrap(rhs)))


def logical_or(lhs: Any, rhs: Any) -> Any:
    return core.to_tensor(lhs).logical_or(core.to_tensor(unwrap(rhs)))
