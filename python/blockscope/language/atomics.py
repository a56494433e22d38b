"""Atomic operations on memory; each returns the old value."""

from typing import Any

from blockscope._core import semantic as _semantic
from blockscope.language.core import tensor_method

_DOC = """{what} atomically, where ``mask`` is true; returns the old value.

    ``sem``: "acq_rel" (default), "acquire", "release", "relaxed".
    ``scope``: "gpu" (default), "cta", "sys".
    """


def _make(kind: str, what: str) -> Any:
    emit = getattr(_semantic, f"atomic_{kind}")

    def atomic(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> Any:
        return emit(pointer, val, mask, sem, scope)

    atomic.__name__ = atomic.__qualname__ = f"atomic_{kind}"
    atomic.__doc__ = _DOC.format(what=what)
    return tensor_method(atomic)


atomic_add = _make("add", "Add ``val`` to memory")
atomic_max = _make("max", "Put the larger of memory and ``val`` into memory")
atomic_min = _make("min", "Put the smaller of memory and ``val`` into memory")
atomic_and = _make("and", "Put memory & ``val`` into memory")
atomic_or = _make("or", "Put memory | ``val`` into memory")
atomic_xor = _make("xor", "Put memory ^ ``val`` into memory")
atomic_xchg = _make("xchg", "Put ``val`` into memory")


@tensor_method
def atomic_cas(pointer: Any, cmp: Any, val: Any, sem: Any = None, scope: Any = None) -> Any:
    """Put ``val`` into memory where it is equal to ``cmp``; returns the old value."""
    return _semantic.atomic_cas(pointer, cmp, val, sem, scope)


__all__ = [
    "atomic_add",
    "atomic_and",
    "atomic_cas",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_xchg",
    "atomic_xor",
]
