"""Finds the live tensor or array that holds a host address which a kernel loaded from memory."""

from __future__ import annotations

import bisect
import gc
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any

from blockscope.runtime.memory.buffer import Buffer, contiguous_strides, element_count
from blockscope.runtime.memory.host import HostMemory

_BATCH = 4096
_NO_MEMORY = (RuntimeError, TypeError, ValueError, NotImplementedError)


class LiveTensors:
    """What is alive when a launch first meets an address that it does not know.

    torch tensors are found first, through Python's garbage collector. It does not track NumPy
    arrays: they are looked for in everything that holds references, and only when no tensor has
    the address. Nothing is kept alive: a launch holds its arguments, and others are looked at by
    weak reference.

    The collector also shows tuples that other threads are making. ``tuple`` of a generator then
    raises SystemError there, so what runs in launches makes tuples of lists.
    """

    #: The arrays of the latest search: kernels are launched again with the same table of pointers.
    known_arrays: _Storages | None = None

    def __init__(self) -> None:
        self._tensors: _Storages | None = None
        self._arrays: _Storages | None = None
        self._lock = threading.Lock()  # workers of one launch may ask at once

    def find(self, address: int) -> Buffer | None:
        """Return the tensor or array whose storage holds ``address``, or None."""
        with self._lock:
            self._tensors = self._tensors or _Storages(_torch_tensors(), _torch_storage)
            if buffer := self._tensors.find(address, "tensor"):
                return buffer
            known = self._arrays or LiveTensors.known_arrays
            buffer = known.find(address, "array") if known else None
            if buffer is None and self._arrays is None:
                self._arrays = LiveTensors.known_arrays = _Storages(_numpy_arrays(), _numpy_storage)
                buffer = self._arrays.find(address, "array")
            return buffer


class _Storages:
    """The storages of some tensors, by address; of each the tensor that reaches furthest."""

    def __init__(
        self, candidates: Iterable[Any], storage_of: Callable[[Any], tuple[int, int]]
    ) -> None:
        found: dict[int, tuple[int, Any]] = {}  # begin of a storage -> its end, one tensor in it
        for candidate in candidates:
            try:
                begin, end = storage_of(candidate)
            except _NO_MEMORY:
                continue
            if begin < end and end > found.get(begin, (0, None))[0]:
                found[begin] = (end, weakref.ref(candidate))
        self.begins = sorted(found)
        self.ends = [found[begin][0] for begin in self.begins]
        self.tensors = [found[begin][1] for begin in self.begins]

    def find(self, address: int, kind: str) -> Buffer | None:
        place = bisect.bisect_right(self.begins, address) - 1
        if place < 0 or address >= self.ends[place]:
            return None
        tensor = self.tensors[place]()
        if tensor is None:
            return None
        try:
            buffer = HostMemory().describe(tensor, kind)
        except _NO_MEMORY:
            return None
        if not buffer.storage <= address < buffer.storage + buffer.storage_bytes:
            return None  # its memory has moved since
        # The whole storage, since a pointer in memory does not say which view it came from.
        starts_there = buffer.pointer == buffer.storage == self.begins[place]
        count = buffer.storage_bytes // max(1, buffer.element_bytes)
        shape = buffer.shape
        is_whole = starts_there and buffer.strides == contiguous_strides(shape)
        buffer.pointer = self.begins[place]
        if not is_whole or element_count(shape) != count:
            buffer.shape, buffer.strides = (count,), (1,)
        buffer.owner_name = f"<{kind} of {buffer.dtype} {list(shape)}>"
        return buffer


def _torch_tensors() -> Iterator[Any]:
    torch: Any = sys.modules.get("torch")
    for candidate in gc.get_objects() if torch is not None else ():
        if issubclass(type(candidate), torch.Tensor):
            yield candidate


def _torch_storage(tensor: Any) -> tuple[int, int]:
    if tensor.device.type != "cpu":
        return 0, 0
    storage = tensor.untyped_storage()
    begin = storage.data_ptr()
    return begin, begin + storage.nbytes()


def _numpy_arrays() -> Iterator[Any]:
    """Every array that a container, an object, a cell or a running function holds."""
    numpy: Any = sys.modules.get("numpy")
    if numpy is None:
        return
    arrays = set(_with_subclasses(numpy.ndarray))
    wanted = arrays | {dict, tuple}
    holders = gc.get_objects()
    for frame in sys._current_frames().values():
        inner: FrameType | None = frame
        while inner is not None:
            holders.append(list(inner.f_locals.values()))
            inner = inner.f_back
    found: dict[int, Any] = {}  # keeps them alive, and so their numbers theirs
    while holders:
        inside: list[Any] = []
        for start in range(0, len(holders), _BATCH):  # together they refer to millions of objects
            values = gc.get_referents(*holders[start : start + _BATCH])
            for value in [each for each in values if type(each) in wanted]:
                if id(value) in found:
                    continue
                if type(value) in arrays:
                    found[id(value)] = value
                    yield value
                    if value.dtype == object:
                        inside.append(list(value.flat))
                elif not gc.is_tracked(value):
                    # The collector leaves out dicts and tuples that hold nothing it tracks.
                    found[id(value)] = value
                    inside.append(value)
        holders = inside


def _with_subclasses(kind: type) -> Iterator[type]:
    yield kind
    derived: type
    for derived in kind.__subclasses__():
        yield from _with_subclasses(derived)


def _numpy_storage(array: Any) -> tuple[int, int]:
    buffer = HostMemory().describe(array, "array")
    return buffer.storage, buffer.storage + buffer.storage_bytes
