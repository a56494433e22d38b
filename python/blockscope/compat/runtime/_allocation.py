"""The scratch allocator, under the module path that Triton uses."""

from typing import Protocol

from blockscope.host import NullAllocator, get_allocator, set_allocator, set_profile_allocator


class Buffer(Protocol):
    def data_ptr(self) -> int: ...


class Allocator(Protocol):
    def __call__(self, size: int, alignment: int, stream: int | None) -> Buffer: ...


__all__ = [
    "Allocator",
    "Buffer",
    "NullAllocator",
    "get_allocator",
    "set_allocator",
    "set_profile_allocator",
]
