"""TMA and mbarriers for the machine of ptx_machine.py.

Copies happen as late as they may: what TMA loads, and what cp.async brings that arrives at an
mbarrier, is in shared memory when the first thread has waited for the mbarrier, and may be read by
a thread that waited too, or knows of one that did; what TMA stores is in global memory when the
storing thread has waited in full, else when the program ends. TMA may read or overwrite a byte that
a thread wrote, and overwrite one that it read, only behind fence.proxy.async. Threads wait for an
mbarrier's phases in order, each for every one of them: other waits take one phase for another.

In a cluster an address is a place in the memory of all CTAs (see ptx_cluster_machine.py), and a
CTA may end when it has waited for what others bring to its mbarriers. What a CTA wrote is seen by
another one whose mbarrier it arrives at only if arrival and wait have the scope of the cluster;
that it has read its own memory needs no more than the arrival.

A tensor map that the kernel makes has bytes of our own choice: see `_FIELDS`. A thread may use it
when it has acquired it since it came into global memory.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from ptx_clocks import happened, joined
from ptx_machine import Instruction, NotInMachine, PtxError

_WAIT = re.compile(
    r"\{\.reg \.pred p; wait: (mbarrier\.(?:try|test)_wait\S*) p, ([^;]*); @!p bra wait;\}"
)
_MAP = re.compile(r"\.param\s+\.align\s+64\s+\.b8\s+(\w+)\[128\]")
_FIRST_HANDLE = 1 << 50
#: Where a map's fields begin, the bytes of a number, and how many numbers there may be.
_FIELDS = {
    "global_address": (0, 8, 1), "rank": (8, 1, 1), "elemtype": (9, 1, 1),
    "interleave_layout": (10, 1, 1), "swizzle_mode": (11, 1, 1), "fill_mode": (12, 1, 1),
    "global_dim": (16, 4, 5), "box_dim": (36, 4, 5), "element_stride": (56, 4, 5),
    "global_stride": (80, 8, 4),
}  # fmt: skip
_MAP_BYTES = 128
_ELEMENT_BYTES = {0: 1, 1: 2, 2: 4, 4: 8}  # by elemtype: integers without a sign


class NoTensorMap(PtxError):
    """The driver would take the careful compilation instead."""


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

    def __init__(
        self, element_bytes: int, swizzle: int, box: list[int], base: int, sizes: list[int],
        strides: list[int],
    ) -> None:  # fmt: skip
        """``strides`` are in bytes, without that of the contiguous dimension."""
        self.element_bytes, self.swizzle, self.box = element_bytes, swizzle, box
        self.base, self.sizes = base, sizes
        self.strides = [element_bytes, *strides]
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
            raise NoTensorMap(f"no tensor map for {self.__dict__}")

    @classmethod
    def encoded(cls, data: dict[str, Any], cells: list[int]) -> TensorMap:
        """What the launch encodes."""
        size = data["element_bytes"]
        strides = [evaluate(text, cells) * size for text in data["strides"]]
        sizes = [evaluate(text, cells) for text in data["sizes"]]
        base = evaluate(data["base"], cells)
        return cls(size, data["swizzle_bytes"], list(data["box"]), base, sizes, strides)

    @classmethod
    def made(cls, image: np.ndarray) -> TensorMap:
        """What a kernel has put together."""

        def numbers(name: str) -> list[int]:
            begin, size, count = _FIELDS[name]
            field = image[begin : begin + size * count].tobytes()
            return [
                int.from_bytes(field[i : i + size], "little") for i in range(0, len(field), size)
            ]

        (rank,) = (value + 1 for value in numbers("rank"))
        if rank > 5 or numbers("interleave_layout") != [0] or numbers("fill_mode") != [0]:
            raise PtxError("a tensor map of another kind")
        if numbers("element_stride")[:rank] != [1] * rank:
            raise PtxError("a tensor map whose elements do not lie side by side")
        (swizzle,), (kind,), (base,) = (
            numbers(name) for name in ("swizzle_mode", "elemtype", "global_address")
        )
        return cls(
            _ELEMENT_BYTES[kind], 16 << swizzle if swizzle else 0, numbers("box_dim")[:rank], base,
            numbers("global_dim")[:rank], numbers("global_stride")[: rank - 1],
        )  # fmt: skip

    def places(
        self, start: list[int], shared: int, is_store: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For each byte of a box its address in shared memory, in global memory, and whether it is
        copied: it is inside of the tensor. Stores go on to the end of 16 bytes (seen on an
        H200)."""
        piece = 16 // self.element_bytes
        sizes = [-(-self.sizes[0] // piece) * piece if is_store else self.sizes[0], *self.sizes[1:]]
        if shared % 128:
            raise PtxError("a box that begins at no multiple of 128 bytes")
        count = int(np.prod(self.box))
        number, address = np.arange(count), np.full(count, self.base)
        inside, rest = np.ones(count, bool), np.arange(count)
        for side, size, stride, first in zip(self.box, sizes, self.strides, start):
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
    """Phases end when somebody waits for them, or when arrivals for the next one come."""

    arrivals: int  # that end a phase
    column: int  # of its clock, and what that was at the beginning
    before: int
    told: np.ndarray  # by those who arrived in this phase
    learned: np.ndarray  # by who waits for the last one
    told_wide: np.ndarray  # both with what arrivals of other CTAs release, for waits of wide scope
    learned_wide: np.ndarray
    waited: np.ndarray  # for each thread, for how many phases
    maker: int
    is_fenced: bool = False
    told_phase: int = 1 << 60  # of the cluster's barrier, by which all know of a fenced mbarrier
    phase: int = 0  # so many are over
    arrived: int = 0
    expected: int = 0  # bytes
    copies: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    # Of the last phases with copies from other CTAs, and with arrivals of their warps.
    copied_phase: int = 0
    others: dict[int, tuple[int, int, int]] = field(default_factory=dict)  # also epoch and code
    behind: list[tuple[np.ndarray, int]] = field(default_factory=list)  # threads, copies begun


class Tma:
    """Mixed into a machine with `unfenced`, which tells the bytes that threads wrote last, and
    with the copies of cp.async.
    """

    def __init__(
        self, ptx: str, num_warps: int, maps: Any = (), num_ctas: int | None = None
    ) -> None:
        self.maps = list(maps)
        names = _MAP.findall(ptx)
        if len(names) != len(self.maps):
            raise PtxError(f"{len(names)} parameters for {len(self.maps)} tensor maps")
        self.map_handles = {name: _FIRST_HANDLE + i for i, name in enumerate(names)}
        self.tma_copies = 0
        super().__init__(  # type: ignore[call-arg]
            _WAIT.sub(r"\1 \2;", ptx), num_warps, num_ctas
        )

    def _run_program(self, program: Any, grid: Any, shared: int) -> None:
        cells = [int.from_bytes(value, "little") for value in self.values.values()]  # type: ignore
        self.encoded = [TensorMap.encoded(data, cells) for data in self.maps]
        self.acquired: dict[int, np.ndarray] = {}  # by address of a map: the threads that see it
        self.mbarriers: dict[int, _Mbarrier] = {}
        self.is_mbarrier = np.zeros(shared + 8, bool)
        self.columns: dict[int, tuple[int, int]] = {}  # of the clocks of ended mbarriers
        self.stores: list[tuple[int, np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []
        self.written_later: list[tuple[np.ndarray, np.ndarray]] = []
        super()._run_program(program, grid, shared)  # type: ignore[misc]
        if self.stores or any(barrier.copies for barrier in self.mbarriers.values()):
            raise PtxError("the program ends before its copies do")
        for place, data in self.written_later:
            self.store(place, data)  # type: ignore[attr-defined]

    def get(self, text: str, at: np.ndarray, kind: str = "b64") -> np.ndarray:
        if text in self.map_handles:
            return np.full(len(at), self.map_handles[text], np.uint64)
        return super().get(text, at, kind)  # type: ignore[misc]

    def _note(self, place: np.ndarray, at: np.ndarray, what: str) -> None:
        super()._note(place, at, what)  # type: ignore[misc]
        if self.mbarriers and self.is_mbarrier[place].any():
            raise PtxError(f"a {what} of an mbarrier")

    # -- mbarriers --------------------------------------------------------------------------------

    def _mbarrier(self, address: int, at: np.ndarray) -> _Mbarrier:
        """One that threads use. Making and ending it are writes of its bytes, this is a read."""
        barrier = self.mbarriers.get(address)
        if barrier is None:
            raise PtxError("no mbarrier here")
        knows = self.clocks.known[at, self.cluster_column] >= barrier.told_phase
        for is_known in np.unique(knows):
            some = at[knows == is_known]
            self.shared.read(np.full((len(some), 1), address), some, self.now, bool(is_known))
        return barrier

    def op_mbarrier(self, i: Instruction, at: np.ndarray) -> Any:
        if not len(at):
            return None
        text = next(operand for operand in i.operands if operand.startswith("["))
        is_arrival = i.has("arrive", "arrive_drop")
        addresses = self.address(text, at)  # type: ignore[attr-defined]
        addresses = self.shared_place(addresses, at, i.is_of_cluster, is_arrival)  # type: ignore
        if i.has("try_wait", "test_wait"):
            number = i.operands.index(text)
            stuck = self._wait(i, at, addresses, self.get(i.operands[number + 1], at, "b32"))
            if number:  # it waits here where a GPU may give up
                self.put(i.operands[0], at, np.ones(len(at), np.uint64))  # type: ignore
            return stuck
        for address in np.unique(addresses):
            threads = at[addresses == address]
            if i.has("init"):
                self._make(int(address), threads, int(self.get(i.operands[1], at, "b32")[0]))
            elif i.has("inval"):
                self._end(int(address), threads)
            elif is_arrival:
                is_other = self.is_of_other(threads, int(address))  # type: ignore[attr-defined]
                for some in (threads[~is_other], threads[is_other]):
                    if len(some):
                        self._arrive_by(i, int(address), some)
            elif i.has("expect_tx"):
                barrier = self._mbarrier(int(address), threads)
                barrier.expected += int(self.get(i.operands[1], threads, "b32").sum())
            else:
                raise NotInMachine(f"no instruction '{i.text}'")
        return None

    def _arrive_by(self, i: Instruction, address: int, at: np.ndarray) -> None:
        """An instruction arrives for threads of one CTA, perhaps several times, or tells of bytes
        to come. What it releases reaches other CTAs where its scope and that of the wait do."""
        if i.has("arrive_drop"):
            raise NotInMachine(f"no instruction '{i.text}'")
        last = self.get(i.operands[2], at, "b32") if len(i.operands) > 2 else np.ones(len(at), int)
        size, count = (int(last.sum()), len(at)) if i.has("expect_tx") else (0, int(last.sum()))
        is_other = bool(self.is_of_other(at, address)[0])  # type: ignore[attr-defined]
        if is_other and i.operands[0] != "_":
            raise PtxError("the state of another CTA's mbarrier")
        epochs = {int(warp): int(self.clocks.now[warp]) for warp in self.clocks.warp[at]}
        is_seen = not i.has("relaxed") and (not is_other or self._has_wide_scope(i))
        self._arrive(address, at, size, -1, count, is_seen and not is_other, is_seen)
        if is_other:
            barrier = self.mbarriers[address]
            for warp, epoch in epochs.items():
                barrier.others[warp] = barrier.phase + 1, epoch, i.number

    @staticmethod
    def _has_wide_scope(i: Instruction) -> bool:
        """Whether what an mbarrier tells reaches other CTAs."""
        scope = i.parts[: i.parts.index("shared")] if i.has("shared") else i.parts
        return not {"cluster", "gpu", "sys"}.isdisjoint(scope)

    def check_end(self, cta: int, known: np.ndarray) -> None:
        super().check_end(cta, known)  # type: ignore[misc]
        for address, barrier in self.mbarriers.items():
            if address // self.pitch != cta:
                continue
            waited = known[barrier.column] - barrier.before if barrier.column < len(known) else 0
            if barrier.copies or barrier.copied_phase > max(waited, 0):
                raise PtxError(f"CTA {cta} ends before copies that come to it do")
            for warp, (phase, epoch, code) in barrier.others.items():
                if phase > waited and known[warp] < epoch:
                    self.raise_end(cta, code, warp)  # type: ignore[attr-defined]

    def _make(self, address: int, at: np.ndarray, arrivals: int) -> None:
        if self.is_mbarrier[address : address + 8].any() or address % 8 or len(at) > 1:
            raise PtxError("an mbarrier on top of another, misaligned or twice")
        if not 0 < arrivals < 1 << 20:
            raise PtxError(f"an mbarrier for {arrivals} arrivals")
        self._note(address + np.arange(8)[None], at, "write")
        self.shared.is_written[address : address + 8] = True
        self.is_mbarrier[address : address + 8] = True
        column, before = self.columns.get(address) or (self.clocks.new_column(), 0)
        told = [self.clocks.nothing()] * 4
        waited = np.zeros(self.threads, int)  # type: ignore[attr-defined]
        self.mbarriers[address] = _Mbarrier(arrivals, column, before, *told, waited, int(at[0]))

    def _end(self, address: int, at: np.ndarray) -> None:
        barrier = self._mbarrier(address, at)
        self._end_phase(barrier)
        if barrier.copies or barrier.behind or barrier.arrived or barrier.expected:
            raise PtxError("an mbarrier ends while it is used")
        self.shared.write(address + np.arange(8)[None], at, self.now)
        self.columns[address] = barrier.column, barrier.before + barrier.phase + 1
        self.is_mbarrier[address : address + 8] = False
        del self.mbarriers[address]

    def _arrive(self, address: int, at: np.ndarray, size: int = 0, behind: int = -1,
                count: int = -1, is_seen: bool = True,
                is_seen_widely: bool = True) -> None:  # fmt: skip
        """Threads arrive, in all `count` times, perhaps telling of bytes to come, or when `behind`
        copies have come. Who waits sees what they wrote, or only if its scope is wide."""
        barrier = self._mbarrier(address, at)
        if barrier.arrived == barrier.arrivals:
            self._end_phase(barrier)  # or else there are too many
        barrier.arrived += count if count >= 0 else len(at)
        barrier.expected += size
        if barrier.arrived > barrier.arrivals:
            text = f"expected {barrier.arrivals}"
            raise PtxError(f"{barrier.arrived} threads arrive at an mbarrier, {text}")
        if behind >= 0:
            barrier.behind.append((at, behind))
            return
        told = self.clocks.published(at)
        barrier.told = joined(barrier.told, told if is_seen else happened(told))
        if self.ctas > 1:
            told = told if is_seen_widely else happened(told)
            barrier.told_wide = joined(barrier.told_wide, told)

    def _arrive_behind_copies(self, i: Instruction, at: np.ndarray) -> None:
        if not i.has("noinc"):
            raise PtxError("an arrival that raises the number of arrivals")
        if not len(at):
            return
        _, addresses = self._locate(i, i.operands[0], at)  # type: ignore[attr-defined]
        for address in np.unique(addresses):
            self._arrive(int(address), at[addresses == address], behind=self.copies_begun)

    def _wait(self, i: Instruction, at: np.ndarray, addresses: np.ndarray,
              parities: np.ndarray) -> np.ndarray:  # fmt: skip
        """Returns the threads that have to wait on."""
        if not i.has("parity"):
            raise NotInMachine(f"no instruction '{i.text}'")
        parities = parities.astype(int)
        stuck = [np.zeros(0, int)]
        for address, parity in np.unique(np.stack([addresses, parities]), axis=1).T:
            threads = at[(addresses == address) & (parities == parity)]
            barrier = self._mbarrier(int(address), threads)
            waited = barrier.waited[threads]
            if parity == 1 and not barrier.phase and not waited.any():
                continue  # for the phase before the first one, which is over
            if (waited % 2 != parity).any():
                raise PtxError(f"a wait for phase {waited.min() + 1} or {waited.min() - 1} of an "
                               f"mbarrier, expected {waited.min()}")  # fmt: skip
            over = barrier.phase + self._can_end(barrier)
            if (over - waited > 1).any():
                raise PtxError(f"{over} phases are over for a wait for {waited.min()}")
            if parity == barrier.phase % 2 and not self._end_phase(barrier):
                stuck.append(threads)
                continue
            barrier.waited[threads] += 1
            is_wide = self.ctas > 1 and self._has_wide_scope(i)
            learned = barrier.learned_wide if is_wide else barrier.learned
            self.clocks.learn(threads, happened(learned) if i.has("relaxed") else learned)
        return np.concatenate(stuck)

    def why(self, i: Instruction) -> str:
        if i.opcode != "mbarrier":
            return str(super().why(i))  # type: ignore[misc]
        text = next(operand for operand in i.operands if operand.startswith("["))
        at = np.flatnonzero(self.stalled & (self.counter == i.number))[:1]  # type: ignore
        place = self.shared_place(self.address(text, at), at)  # type: ignore[attr-defined]
        barrier = self.mbarriers[int(place[0])]
        size = sum(len(place) for place, _ in barrier.copies)
        text = f"{barrier.arrived} of {barrier.arrivals} arrivals, {size} of {barrier.expected}"
        return f"{self._of(int(at[0]))}: {text} bytes"  # type: ignore[attr-defined]

    @staticmethod
    def _can_end(barrier: _Mbarrier) -> bool:
        size = sum(len(place) for place, _ in barrier.copies)
        if barrier.arrived < barrier.arrivals or size < barrier.expected:
            return False
        if size > barrier.expected:
            raise PtxError(f"{size} bytes come, expected {barrier.expected}")
        return True

    def _end_phase(self, barrier: _Mbarrier) -> bool:
        """Ends the phase if it can end; copies come."""
        if not self._can_end(barrier):
            return False
        barrier.phase += 1
        epoch = barrier.before + barrier.phase
        for place, data in barrier.copies:
            self.shared.land(place, data, barrier.column, epoch)
            self.unfenced[place] = False
        for number in np.unique([number for _, number in barrier.behind]):
            threads = [at for at, last in barrier.behind if last == number]
            self.land_copies(np.concatenate(threads), number, barrier.column, epoch)
        barrier.learned = self._learned(barrier.told, barrier.learned, barrier.column, epoch)
        if self.ctas > 1:
            wide = self._learned(barrier.told_wide, barrier.learned_wide, barrier.column, epoch)
            barrier.learned_wide = wide
        barrier.told = barrier.told_wide = self.clocks.nothing()
        barrier.copies, barrier.behind, barrier.arrived, barrier.expected = [], [], 0, 0
        return True

    def _learned(self, told: np.ndarray, before: np.ndarray, column: int, epoch: int) -> np.ndarray:
        """By the end of a phase."""
        learned = joined(told, joined(before, self.clocks.nothing()))
        learned[::2, column] = epoch
        return learned

    def op_fence(self, i: Instruction, at: np.ndarray) -> None:
        if i.has("tensormap"):
            for address in np.unique(self.address(i.operands[0], at)):  # type: ignore[attr-defined]
                threads = self.acquired.get(int(address))
                if threads is None:
                    raise PtxError("no tensor map here")
                threads[at] = True
            return
        if i.has("mbarrier_init"):
            for barrier in self.mbarriers.values():
                if barrier.maker in at and not barrier.is_fenced:
                    has_arrived = self.arrived_for[barrier.maker] > 0
                    barrier.told_phase = self.cluster_phase + 1 + has_arrived
                    barrier.is_fenced = True
        super().op_fence(i, at)  # type: ignore[misc]

    op_membar = op_fence

    # -- copies -----------------------------------------------------------------------------------

    def _coordinates(self, text: str, thread: np.ndarray) -> tuple[TensorMap, list[int]]:
        """The map and the indices that "[map, {coordinates}]" names."""
        match = re.fullmatch(r"\[\s*(\S+),\s*\{([^}]*)\}\s*\]", text)
        assert match is not None, text
        handle = int(self.get(match[1], thread)[0])
        start = []
        for name in match[2].split(","):
            value = int(self.get(name.strip(), thread, "b32")[0]) & 0xFFFFFFFF
            start.append(value - (value >> 31 << 32))
        if handle >= _FIRST_HANDLE:
            tensor = self.encoded[handle - _FIRST_HANDLE]
        else:
            acquired = self.acquired.get(handle)
            if acquired is None or not acquired[thread].all():
                raise PtxError("a tensor map that the thread has not acquired")
            place = self._global(handle + np.arange(_MAP_BYTES))  # type: ignore[attr-defined]
            tensor = TensorMap.made(self.memory[place])  # type: ignore[attr-defined]
        if len(start) != len(tensor.box):
            raise PtxError("coordinates of another rank")
        return tensor, start

    def op_tensormap(self, i: Instruction, at: np.ndarray) -> None:
        for cta in np.unique(self.cta[at]):
            self._make_map(i, at[self.cta[at] == cta])

    def _make_map(self, i: Instruction, at: np.ndarray) -> None:
        if i.has("replace"):
            image = self._place_of_map(i.operands[0], at)
            if not self.shared.is_written[image : image + _MAP_BYTES].all():  # type: ignore
                raise PtxError("a tensor map in bytes that nobody has written")
            name = next(part for part in i.parts if part in _FIELDS)
            begin, size, count = _FIELDS[name]
            number = int(i.operands[1]) if len(i.operands) == 3 else 0
            if len(at) > 1 or number >= count:
                raise PtxError("a field that several threads replace, or that there is not")
            value = self.get(i.operands[-1], at, i.kind)
            place = np.array([image + begin + size * number])
            self.write("shared", place, at, size, value)  # type: ignore[attr-defined]
            return
        target = self._place_of_map(i.operands[0], at, is_shared=False)
        image = self._place_of_map(i.operands[1], at)
        cta = int(self.cta[at[0]])
        if any(self.cta[thread] == cta for thread, *_ in self.stores) or any(
            barrier.copies and not self.is_of_other(at, place).any()
            for place, barrier in self.mbarriers.items()
        ):
            raise PtxError("a tensor map is made while copies may use the one before")
        word = at % 32 * 4
        data = self.read("shared", image + word, at, 4)  # type: ignore[attr-defined]
        self.write("global", target + word, at, 4, data)  # type: ignore[attr-defined]
        self.acquired[target] = np.zeros(self.threads, bool)  # type: ignore[attr-defined]

    def _place_of_map(self, text: str, at: np.ndarray, is_shared: bool = True) -> int:
        addresses = self.address(text, at)  # type: ignore[attr-defined]
        if is_shared:
            addresses = self.shared_place(addresses, at)  # type: ignore[attr-defined]
        (address,) = np.unique(addresses)
        if address % _MAP_BYTES:
            raise PtxError("a tensor map that begins at no multiple of 128 bytes")
        return int(address)

    def _box(self, text: str, thread: np.ndarray, shared: int, is_store: bool = False) -> Any:
        """The places of the box that "[map, {coordinates}]" names."""
        tensor, start = self._coordinates(text, thread)
        self.tma_copies += 1
        return tensor.places(start, shared, is_store)

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
        targets = self.targets(i, at)  # type: ignore[attr-defined]
        self._check_start(i.operands[1], at)
        start = targets[0][0]
        first, source, inside = self._box(i.operands[1], at, start)
        data = np.zeros(len(first), np.uint8)
        data[inside] = self.memory[self._global(source[inside])]  # type: ignore[attr-defined]
        for to, where in targets:
            barrier = self._mbarrier(where, at)
            if not barrier.is_fenced:
                raise PtxError("an mbarrier before its fence")
            place = first + (to - start)
            self.need_fence(place, at, "TMA writes over")
            self._note(place[None], at, "copy")
            self.shared.need_fence_of_reads(place, thread)
            if self.is_of_other(at, where).any():
                self._end_phase(barrier)  # whose CTA has not come to the next one yet
                barrier.copied_phase = barrier.phase + 1
            barrier.copies.append((place, data))

    def _begin_store(self, i: Instruction, at: np.ndarray, thread: int) -> None:
        start = int(self._locate(i, i.operands[1], at)[1][0])  # type: ignore[attr-defined]
        place, target, inside = self._box(i.operands[0], at, start, is_store=True)
        self._check_start(i.operands[0], at, lowest=0)
        self._read_image(place, at)
        target = self._global(target[inside])  # type: ignore[attr-defined]
        self.stores.append((thread, place, self.shared.data[place].copy(), inside, target))

    def _check_start(self, text: str, thread: np.ndarray, lowest: int = -(1 << 31)) -> None:
        """A GPU takes copies that begin elsewhere for an illegal instruction (seen on an H200)."""
        tensor, start = self._coordinates(text, thread)
        if min(start) < lowest or start[0] * tensor.element_bytes % 16:
            raise PtxError(f"TMA copies from {start}")

    def _read_image(self, place: np.ndarray, at: np.ndarray) -> None:
        self.check_inside(place, len(self.shared.data))  # type: ignore[attr-defined]
        self.shared.hold(place, at, self.now)
        self.need_fence(place, at, "TMA reads")

    def _finish_stores(self, at: np.ndarray, writes: bool) -> None:
        left = []
        for thread, place, data, inside, target in self.stores:
            if thread not in at:
                left.append((thread, place, data, inside, target))
                continue
            self.shared.let_go(place, np.array([thread]))
            if (self.shared.data[place] != data).any():
                raise PtxError("a block changed while TMA read it")
            self.written_later.append((target, data[inside]))
        self.stores = left
        if writes:
            for target, data in self.written_later:
                self.store(target, data)  # type: ignore[attr-defined]
            self.written_later = []
