"""Which bytes of torch's memory nobody has written, as far as the host's part says it.

Takes the place of a check session for ``torch_memory``. What kernels write is not known here: when
launches are replayed in order, the session that watches them sees it; for a launch that is replayed
alone, memory that an earlier launch has changed counts as written.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blockscope import checks
from blockscope.runtime.memory.buffer import contiguous_strides
from blockscope.torch_memory import watching

Place = tuple[str, int, int, str]

_generations = itertools.count(1)


@dataclass
class Undefined:
    """A storage that was allocated without values, at ``place``."""

    begin: int
    size: int
    place: Place
    some: Any = None  # a bool for each byte; None while all are undefined
    generation: int = field(default_factory=lambda: next(_generations))

    @property
    def mask(self) -> Any:
        """A bool for each byte, to be changed too."""
        if self.some is None:
            self.some = np.ones(self.size, dtype=bool)
        return self.some

    def packed(self) -> bytes:
        """A bit for each byte."""
        if self.some is not None:
            return np.packbits(self.some).tobytes()
        rest = self.size % 8
        return b"\xff" * (self.size // 8) + bytes([0xFF00 >> rest & 0xFF] if rest else [])


class UndefinedLog:
    def __init__(self) -> None:
        self._storages: dict[int, Undefined] = {}
        #: To be called before each launch: memory that is gone may come back as another tensor's.
        self.before_launch: Callable[[], None] = lambda: None

    def of(self, begin: int, size: int) -> Undefined | None:
        """What is known of a storage; None where all of it has values."""
        found = self._storages.get(begin)
        return found if found is not None and found.size == size else None

    # What torch_memory asks of a session:

    def host_allocation(
        self, begin: int, size: int, file: str, line: int, column: int, function: str
    ) -> None:
        self._storages[begin] = Undefined(begin, size, (file, line, column, function))

    def host_free(self, begin: int, size: int) -> None:
        self._storages.pop(begin, None)

    def host_write(self, elements: tuple[Any, ...]) -> None:
        _, size, shape, strides, begin, total = elements
        packed = contiguous_strides(tuple(shape))
        is_whole = math.prod(shape) * size == total
        if is_whole and tuple(strides) == tuple(step * size for step in packed):
            self._storages.pop(begin, None)
        elif (bytes_ := self._bytes(elements)) is not None:
            bytes_[...] = False

    def host_read(self, elements: tuple[Any, ...], *place: Any) -> None:
        pass

    def host_share(self, elements: tuple[Any, ...], *place: Any) -> None:
        self.host_write(elements)  # who has it now may write it unseen

    def host_copy(self, source: tuple[Any, ...], target: tuple[Any, ...]) -> None:
        before = self._bytes(source)
        begin, size = target[4], target[5]
        if before is None:
            self.host_write(target)
            return
        if begin not in self._storages:
            place = self._storages[source[4]].place
            self._storages[begin] = Undefined(begin, size, place, np.zeros(size, dtype=bool))
        after = self._bytes(target)
        if after is not None and after.size == before.size:
            after[...] = before.reshape(after.shape)

    def host_compute(
        self, sources: list[tuple[Any, ...]], target: tuple[Any, ...], *place: Any
    ) -> None:
        undefined = self._flags(sources[0])
        for source in sources[1:]:
            undefined = undefined | self._flags(source)
        self._put(undefined, sources, target)

    def host_move(
        self, sources: list[tuple[Any, ...]], numbers: Any, target: tuple[Any, ...]
    ) -> None:
        flags = np.concatenate([[False], *(self._flags(source) for source in sources)])
        self._put(flags[numbers], sources, target)

    def _flags(self, elements: tuple[Any, ...]) -> Any:
        """Which elements have no value, by their numbers."""
        bytes_ = self._bytes(elements)
        if bytes_ is None:
            return np.zeros(math.prod(elements[2]), dtype=bool)
        return bytes_.any(axis=-1).reshape(-1)

    def _put(self, undefined: Any, sources: list[tuple[Any, ...]], target: tuple[Any, ...]) -> None:
        known = [self._storages[source[4]] for source in sources if source[4] in self._storages]
        self.host_write(target)
        begin, size = target[4], target[5]
        if not undefined.any():
            return
        if begin not in self._storages:
            place = known[0].place
            self._storages[begin] = Undefined(begin, size, place, np.zeros(size, dtype=bool))
        after = self._bytes(target)
        if after is not None:
            after[...] = undefined.reshape(*after.shape[:-1], 1)

    def is_undefined(self, elements: tuple[Any, ...]) -> bool:
        bytes_ = self._bytes(elements)
        return bytes_ is not None and bool(bytes_.any())

    def may_be_undefined(self, begin: int, size: int) -> bool:
        found = self.of(begin, size)
        return found is not None and (found.some is None or bool(found.some.any()))

    def _bytes(self, elements: tuple[Any, ...]) -> Any:
        """The part of a mask that is for some elements; None where all have values."""
        address, size, shape, strides, begin, total = elements
        found = self.of(begin, total)
        if found is None or 0 in shape:
            return None
        reach = sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) + size
        if address < begin or address - begin + reach > total:
            return None
        return np.lib.stride_tricks.as_strided(
            found.mask[address - begin :], (*shape, size), (*strides, 1)
        )


@contextmanager
def logged() -> Iterator[UndefinedLog]:
    """Inside, what torch does with memory on this thread goes into the log."""
    log = UndefinedLog()
    with watching(lambda: log, checks.one_launch()) as before_launch:
        log.before_launch = before_launch
        yield log
