"""Atomic operations on memory."""

from typing import Any

from blockscope._core import semantic as _semantic
from blockscope.language import context, core
from blockscope.language.core import tensor_method, unwrap

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


@tensor_method
def atomic_load(pointer: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> Any:
    """Read memory atomically where ``mask`` is true; elsewhere 0 on the CPU, undefined on a GPU.

    ``sem``: "acquire" (default), "relaxed". ``scope``: "gpu" (default), "cta", "sys".
    """
    return _semantic.atomic_load(pointer, mask, sem, scope)


@tensor_method
def atomic_store(
    pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None
) -> None:
    """Write ``val`` to memory atomically where ``mask`` is true.

    ``sem``: "release" (default), "relaxed". ``scope``: "gpu" (default), "cta", "sys".
    """
    _semantic.atomic_store(pointer, val, mask, sem, scope)


@tensor_method
def atomic_poll(
    pointer: Any, expected_value: Any, sem: Any = None, scope: Any = None, timeout_ns: Any = None
) -> Any:
    """Wait until memory is ``expected_value``; in a block each element waits for its own.

    Returns true where the value was seen, false where ``timeout_ns`` nanoseconds went by before;
    memory is looked at once at least. ``sem`` and ``scope`` are those of ``atomic_load``.
    Integers of 16, 32 and 64 bits.
    """
    if not isinstance(pointer, core.tensor) or not pointer.dtype.is_ptr():
        found = pointer.type if isinstance(pointer, core.tensor) else type(unwrap(pointer)).__name__
        raise TypeError(f"tl.atomic_poll: pointer is {found}, expected a pointer")
    element = pointer.dtype.element_ty
    if not element.is_int() or element.primitive_bitwidth not in (16, 32, 64):
        raise TypeError(
            f"tl.atomic_poll: elements are {element}, expected integers of 16, 32 or 64 bits"
        )
    wanted = core.to_tensor(expected_value).to(element)
    shape = [unwrap(size) for size in pointer.shape]
    begin = None if unwrap(timeout_ns) is None else _semantic.global_timer()

    def look(seen: list[Any]) -> tuple[list[Any], Any]:
        missing = seen[0].logical_not()
        found = seen[0] | (_semantic.atomic_load(pointer, missing, sem, scope) == wanted)
        waits = found.logical_not()
        if shape:
            waits = _semantic.reduce_named("or", "tl.atomic_poll", waits, None, False)
        if begin is not None:
            waits = waits & (_semantic.global_timer() - begin < timeout_ns)
        return [found], waits

    kernel = context.current()
    assert kernel is not None  # there is an emitter: the pointer is a value of the kernel
    return kernel.repeat([_semantic.full(shape, False, core.int1, "tl.atomic_poll")], look)[0]


__all__ = [
    "atomic_add",
    "atomic_and",
    "atomic_cas",
    "atomic_load",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_poll",
    "atomic_store",
    "atomic_xchg",
    "atomic_xor",
]
