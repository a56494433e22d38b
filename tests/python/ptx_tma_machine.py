"""TMA and mbarriers for the machine of ptx_machine.py.

Copies happen as late as they may: what TMA loads is in shared memory when the first thread has
waited for its mbarrier, and may be read by a thread that waited too, or after a barrier; what it
stores is in global memory when the storing thread has waited in full, else when the program ends.
TMA may read or overwrite a byte only after the thread that wrote it has passed fence.proxy.async.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from ptx_machine import Instruction, PtxError

_WAIT = re.compile(r"\{\.reg \.pred p; wait: (mbarrier\.try_wait\S*) p, ([^;]*); @!p bra wait;\}")
_MAP = re.compile(r"\.param\s+\.align\s+64\s+\.b8\s+(\w+)\[128\]")
_FIRST_HANDLE = 1 << 50


def evaluate(expression: str, cells: list[int]) -> int:
    """The value of an expression of gpu_backend/tensor_map.h."""
    stack: list[int] = []
    for word in expression.split():
        if word[0] == "a":
            value = cells[int(word[1:])]
        elif word[0] in "su" and word[1:].isdigit():
            bits = int(word[1:])
            value = stack.pop() & (1 << bits) - 1
            value -= (value >> bits - 1 << bits) if word[0] == "s" else 0
        elif word in ("+", "-", "*", "/", "min", "max"):
            b, a = stack.pop(), stack.pop()
            value = {"+": a + b, "-": a - b, "*": a * b, "min": min(a, b), "max": max(a, b)}.get(
                word, 0
            ) or (int(a / b) if word == "/" else 0)
        else:
            value = int(word)
        stack.append((value + (1 << 63)) % (1 << 64) - (1 << 63))
    (result,) = stack
    return result


class TensorMap:
    """A tensor in memory, checked as the driver checks it."""

    def __init__(self, data: dict[str, Any], cells: list[int]) -> None:
        self.element_bytes, self.swizzle = data["element_bytes"], data["swizzle_bytes"]
        self.box = list(data["box"])
        self.base = evaluate(data["base"], cells)
        self.sizes = [evaluate(text, cells) for text in data["sizes"]]
        strides = [evaluate(text, cells) for text in data["strides"]]
        self.strides = [self.element_bytes, *(s * self.element_bytes for s in strides)]
        row = self.box[0] * self.element_bytes
        if (
            self.base % 16
            or any(stride % 16 or stride < 0 for stride in self.strides[1:])
            or any(size < 1 for size in self.sizes)
            or any(not 1 <= side <= 256 for side in self.box)
            or row % 16
            or (self.swizzle and row > self.swizzle)
            or not len(self.box) == len(self.sizes) == len(self.strides) <= 5
        ):
            raise PtxError(f"no tensor map for {self.__dict__}")

    def places(self, start: list[int], shared: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For each byte of a box its address in shared memory, in global memory, and whether it is
        inside of the tensor."""
        if shared % 128:
            raise PtxError("a box that begins at no multiple of 128 bytes")
        count = int(np.prod(self.box))
        number, address = np.arange(count), np.full(count, self.base)
        inside, rest = np.ones(count, bool), np.arange(count)
        for side, size, stride, first in zip(self.box, self.sizes, self.strides, start):
            index = rest % side + first
            rest = rest // side
            inside &= (index >= 0) & (index < size)
            address = address + index * stride
        byte = np.arange(self.element_bytes)
        where = (shared + number[:, None] * self.element_bytes + byte).reshape(-1)
        if self.swizzle:
            where = where ^ (where >> 7 & self.swizzle // 16 - 1) << 4
        return where, (address[:, None] + byte).reshape(-1), np.repeat(inside, len(byte))


@dataclass
class _Mbarrier:
    thread: int  # that made it, and when
    stamp: int
    is_fenced: bool = False
    phase: int = 0
    expected: int | None = None  # bytes, once the phase's one thread has arrived
    copies: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    done: int = -1  # what ended the phase before: an index in Tma.landed


@dataclass
class _Landed:
    """What one phase has brought: who has waited for it, and when the first one had."""

    stamp: int
    waited: np.ndarray


class Tma:
    """Mixed into a machine with `unfenced`, which tells the bytes that threads wrote last."""

    def __init__(self, ptx: str, num_warps: int, maps: Any = ()) -> None:
        self.maps = list(maps)
        names = _MAP.findall(ptx)
        if len(names) != len(self.maps):
            raise PtxError(f"{len(names)} parameters for {len(self.maps)} tensor maps")
        self.map_handles = {name: _FIRST_HANDLE + i for i, name in enumerate(names)}
        self.tma_copies = 0
        super().__init__(_WAIT.sub(r"\1 \2;", ptx), num_warps)  # type: ignore[call-arg]

    def _run_program(self, program: Any, grid: Any, shared: int) -> None:
        cells = [int.from_bytes(value, "little") for value in self.values.values()]  # type: ignore
        self.encoded = [TensorMap(data, cells) for data in self.maps]
        self.mbarriers: dict[int, _Mbarrier] = {}
        self.landed: list[_Landed] = []
        self.landing = np.full(shared, -1)  # for each byte what brought it
        self.stores: list[tuple[int, np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []
        self.written_later: list[tuple[np.ndarray, np.ndarray]] = []
        super()._run_program(program, grid, shared)  # type: ignore[misc]
        if self.stores or any(barrier.copies for barrier in self.mbarriers.values()):
            raise PtxError("the program ends before its copies do")
        for place, data in self.written_later:
            self.memory[place] = data

    def get(self, text: str, at: np.ndarray, kind: str = "b64") -> np.ndarray:
        if text in self.map_handles:
            return np.full(len(at), self.map_handles[text], np.uint64)
        return super().get(text, at, kind)  # type: ignore[misc]

    def _note(self, place: np.ndarray, at: np.ndarray, what: str) -> None:
        super()._note(place, at, what)  # type: ignore[misc]
        flat = place.reshape(-1)
        for address in self.mbarriers:
            if ((flat >= address) & (flat < address + 8)).any():
                raise PtxError(f"a {what} of an mbarrier")
        if what == "write":
            self.landing[flat] = -1
            return
        threads = np.broadcast_to(at[:, None], place.shape).reshape(-1)
        for number in np.unique(self.landing[flat]):
            if number < 0 or self.landed[number].stamp < self.stamp:
                continue
            if not self.landed[number].waited[threads[self.landing[flat] == number]].all():
                raise PtxError("a read of what TMA brought, without a wait")

    # -- mbarriers --------------------------------------------------------------------------------

    def _mbarrier(self, address: int, thread: int) -> _Mbarrier:
        barrier = self.mbarriers.get(address)
        if barrier is None:
            raise PtxError("no mbarrier here")
        if barrier.thread != thread and barrier.stamp == self.stamp:
            raise PtxError("an mbarrier that another thread has just made")
        return barrier

    def op_mbarrier(self, i: Instruction, at: np.ndarray) -> Any:
        text = next(operand for operand in i.operands if operand.startswith("["))
        addresses = self.address(text, at)  # type: ignore[attr-defined]
        if i.has("try_wait"):
            return self._wait(i, at, addresses)
        for thread, address in zip(at, addresses):
            address, thread = int(address), int(thread)
            if i.has("init"):
                if address in self.mbarriers or address % 8 or i.operands[1] != "1":
                    raise PtxError("an mbarrier on top of another, misaligned or for several")
                self._note(address + np.arange(8)[None], np.array([thread]), "write")
                self.mbarriers[address] = _Mbarrier(thread, self.stamp)
                continue
            barrier = self._mbarrier(address, thread)
            if i.has("inval"):
                if barrier.copies or barrier.expected is not None:
                    raise PtxError("an mbarrier ends while it is used")
                del self.mbarriers[address]
            elif i.has("expect_tx"):
                if barrier.expected is not None:
                    raise PtxError("a second thread arrives")
                size = self.get(i.operands[2], np.array([thread]), "b32")
                barrier.expected = int(size[0])
        return None

    def _wait(self, i: Instruction, at: np.ndarray, addresses: np.ndarray) -> np.ndarray:
        """Returns the threads that have to wait on."""
        parities = self.get(i.operands[1], at, "b32")
        stuck = []
        for thread, address, parity in zip(at, addresses, parities):
            barrier = self._mbarrier(int(address), int(thread))
            if barrier.phase % 2 == int(parity):
                size = sum(len(place) for place, _ in barrier.copies)
                if barrier.expected is None or size < barrier.expected:
                    stuck.append(thread)
                    continue
                if size > barrier.expected:
                    raise PtxError(f"{size} bytes come, expected {barrier.expected}")
                self._land(barrier)
            if barrier.done >= 0:
                self.landed[barrier.done].waited[thread] = True
        return np.array(stuck, int)

    def _land(self, barrier: _Mbarrier) -> None:
        barrier.done = len(self.landed)
        self.landed.append(_Landed(self.stamp, np.zeros(self.threads, bool)))  # type: ignore
        for place, data in barrier.copies:
            self.shared.data[place] = data
            self.shared.is_written[place] = True
            self.shared.write_stamp[place] = -1  # `landing` says from now on who may read
            self.unfenced[place] = False
            self.landing[place] = barrier.done
        barrier.copies, barrier.expected = [], None
        barrier.phase += 1

    def op_fence(self, i: Instruction, at: np.ndarray) -> None:
        if i.has("mbarrier_init"):
            for barrier in self.mbarriers.values():
                barrier.is_fenced |= barrier.thread in at
        super().op_fence(i, at)  # type: ignore[misc]

    op_membar = op_fence

    # -- copies -----------------------------------------------------------------------------------

    def _box(self, text: str, thread: np.ndarray, shared: int) -> Any:
        """The places of the box that "[map, {coordinates}]" names."""
        match = re.fullmatch(r"\[\s*(\S+),\s*\{([^}]*)\}\s*\]", text)
        assert match is not None, text
        handle = int(self.get(match[1], thread)[0]) - _FIRST_HANDLE
        start = []
        for name in match[2].split(","):
            value = int(self.get(name.strip(), thread, "b32")[0]) & 0xFFFFFFFF
            start.append(value - (value >> 31 << 32))
        tensor = self.encoded[handle]
        if len(start) != len(tensor.box):
            raise PtxError("coordinates of another rank")
        self.tma_copies += 1
        return tensor.places(start, shared)

    def op_cp(self, i: Instruction, at: np.ndarray) -> None:
        if not i.has("bulk"):
            super().op_cp(i, at)  # type: ignore[misc]
        elif i.has("commit_group"):
            pass
        elif i.has("wait_group"):
            self._finish_stores(at, writes=not i.has("read"))
        elif i.has("mbarrier"):
            for k, thread in enumerate(at):
                self._begin_load(i, at[k : k + 1], int(thread))
        else:
            for k, thread in enumerate(at):
                self._begin_store(i, at[k : k + 1], int(thread))

    def _begin_load(self, i: Instruction, at: np.ndarray, thread: int) -> None:
        to, where = (int(self.address(i.operands[k], at)[0]) for k in (0, 2))  # type: ignore
        barrier = self._mbarrier(where, thread)
        if not barrier.is_fenced:
            raise PtxError("an mbarrier before its fence")
        place, source, inside = self._box(i.operands[1], at, to)
        self._note(place[None], at, "write")
        if self.unfenced[place].any():
            raise PtxError("TMA writes over what was written before no fence.proxy.async")
        self.shared.is_written[place] = False
        data = np.zeros(len(place), np.uint8)
        data[inside] = self.memory[self._global(source[inside])]  # type: ignore[attr-defined]
        barrier.copies.append((place, data))

    def _begin_store(self, i: Instruction, at: np.ndarray, thread: int) -> None:
        start = int(self.address(i.operands[1], at)[0])  # type: ignore[attr-defined]
        place, target, inside = self._box(i.operands[0], at, start)
        self._read_image(place, at)
        target = self._global(target[inside])  # type: ignore[attr-defined]
        self.stores.append((thread, place, self.shared.data[place].copy(), inside, target))

    def _read_image(self, place: np.ndarray, at: np.ndarray) -> None:
        self._note(place[None], at, "read")
        if self.unfenced[place].any():
            raise PtxError("TMA reads what was written before no fence.proxy.async")

    def _finish_stores(self, at: np.ndarray, writes: bool) -> None:
        left = []
        for thread, place, data, inside, target in self.stores:
            if thread not in at:
                left.append((thread, place, data, inside, target))
                continue
            self._read_image(place, np.array([thread]))
            if (self.shared.data[place] != data).any():
                raise PtxError("a block changed while TMA read it")
            self.written_later.append((target, data[inside]))
        self.stores = left
        if writes:
            for target, data in self.written_later:
                self.memory[target] = data
            self.written_later = []
