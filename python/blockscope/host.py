"""Small functions beside kernels: sizes, the allocator, and the mode in which kernels run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from blockscope import knobs


def cdiv(x: Any, y: Any) -> Any:
    """``x / y`` rounded up, for numbers that are not negative; also inside kernels."""
    return (x + (y - 1)) // y


def next_power_of_2(n: Any) -> Any:
    """The smallest power of two that is at least ``n``; 0 for 0. Also for constexpr in kernels."""
    value = getattr(n, "value", n)
    try:
        value = value.__index__()
    except AttributeError:
        if not isinstance(value, float) or not value.is_integer():
            raise TypeError(
                f"next_power_of_2 got {n!r} ({type(n).__name__}), expected a whole number"
            ) from None
        value = int(value)
    result = 1 << (value - 1).bit_length() if value > 0 else 0
    return result if value is n or not hasattr(n, "value") else type(n)(result)


def set_interpret_mode(on: bool = True) -> None:
    """Run all kernels step by step, as TRITON_INTERPRET=1 does, or not."""
    knobs.runtime.interpret = bool(on)


class NullAllocator:
    """The allocator that is active until a file sets one: asking it for memory is an error."""

    def __call__(self, size: int, alignment: int, stream: int | None) -> Any:
        raise RuntimeError(
            "the kernel needs scratch memory and no allocator is set; call triton.set_allocator"
        )


_allocator: Callable[..., Any] = NullAllocator()


def set_allocator(allocator: Callable[[int, int, int | None], Any] | None) -> None:
    """Keep ``allocator(size, alignment, stream)``. Kernels on the CPU need no scratch memory."""
    global _allocator
    if allocator is not None and not callable(allocator):
        raise TypeError(
            f"set_allocator got {type(allocator).__name__}, expected a function of size, "
            "alignment and stream"
        )
    _allocator = allocator or NullAllocator()


def get_allocator() -> Callable[..., Any]:
    return _allocator


def set_profile_allocator(allocator: Callable[..., Any] | None) -> None:
    """Accepted for files that call it; there is no profile buffer on the CPU."""
    if allocator is not None and not callable(allocator):
        raise TypeError(
            f"set_profile_allocator got {type(allocator).__name__}, expected a function"
        )


def is_interpreting() -> bool:
    """Whether kernels run step by step now."""
    return bool(knobs.runtime.interpret)
