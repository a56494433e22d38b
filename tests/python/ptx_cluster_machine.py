"""Clusters of CTAs for the machine of ptx_machine.py.

A cluster is what runs as one program: the threads of its CTAs are numbered through and run as those
of one CTA do, and its shared memory is one piece, in which the CTAs' parts begin `pitch` bytes
apart. So clocks order the accesses of all CTAs; CTA barriers order those of one.

An address in the window of the cluster names CTA and byte; one below it is the own CTA's. A generic
address of shared memory is one of the window.

The memory of a CTA can be used from its begin to its end. Who uses that of another CTA must know
of something that this CTA did, and it of the use when it ends, in whatever order both happen here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from ptx_clocks import Clocks, Race, happened, joined
from ptx_instruction import Instruction, NotInMachine, PtxError

_WINDOW = 0xE0000000  # above all of global memory here
_CTA_BITS = 24
_MOST_CTAS = 16
_PITCH = 1024  # what swizzles look at is in the bits below
_SIZE = re.compile(r"\.reqnctapercluster\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?")


class Clusters:
    """Mixed into a machine: who is in which CTA, addresses of clusters, and their barrier."""

    code: list[Instruction]
    clocks: Clocks
    counter: np.ndarray
    done: np.ndarray
    waits: np.ndarray
    now: int
    barriers: int
    address: Callable[..., np.ndarray]
    get: Callable[..., np.ndarray]
    put: Callable[..., None]

    def _read_cluster(self, ptx: str, num_warps: int, num_ctas: int | None) -> None:
        """The size of the cluster is that of the entry, or what the launch says."""
        match = _SIZE.search(ptx)
        if match and {match[2] or "1", match[3] or "1"} != {"1"}:
            raise NotInMachine(f"no '{match[0]}'")
        if match and num_ctas not in (None, int(match[1])):
            raise PtxError(f"a launch with clusters of {num_ctas} for '{match[0]}'")
        if not match and num_ctas is None and ".explicitcluster" in ptx:
            raise PtxError("a launch without the size of a cluster for '.explicitcluster'")
        self.is_explicit_cluster = match is not None or (num_ctas or 1) > 1
        self.ctas = int(match[1]) if match else num_ctas or 1
        if not 1 <= self.ctas <= _MOST_CTAS:
            raise PtxError(f"clusters of {self.ctas} CTAs")
        self.cta_threads = 32 * num_warps
        self.threads = self.ctas * self.cta_threads

    def _lay_out(self, shared_bytes: int) -> int:
        """The bytes of shared memory of all CTAs."""
        self.cta_bytes = self.pitch = shared_bytes
        if self.ctas > 1:
            self.pitch += -shared_bytes % _PITCH
        return self.ctas * self.pitch

    def _begin_cluster(self, program: tuple[int, ...], grid: tuple[int, ...]) -> None:
        self.cta = np.arange(self.threads) // self.cta_threads
        self.place_of_cluster, self.clusters = program, grid
        self.ended = np.zeros(self.ctas, bool)
        # Of the last use of each CTA's memory by each warp of another one.
        self.use_epoch = np.zeros((self.ctas, self.clocks.warps), np.int64)
        self.use_code = np.zeros_like(self.use_epoch)
        self.early = -1  # whose memory is used, although it may not have begun
        # Phases of the cluster's barrier have a clock, as those of an mbarrier do.
        self.cluster_column = self.clocks.new_column()
        self.cluster_phase = 0  # so many are over
        self.arrived = np.zeros(self.threads, bool)  # in this one
        self.arrived_for = np.zeros(self.threads, int)  # until the wait, the phase's number
        self.cluster_told = self.cluster_learned = self.clocks.nothing()
        self.released = self.clocks.known[:, :0]  # what threads knew at their last fences

    # -- registers --------------------------------------------------------------------------------

    def special(self, text: str, at: np.ndarray) -> Any:
        """A special register, nothing for one that says nothing about clusters."""
        name, _, axis = text.removeprefix("%").partition(".")
        number = max("xyz".find(axis), 0)
        if name in ("cluster_ctarank", "cluster_ctaid"):
            return self.cta[at] if number == 0 else 0
        if name in ("cluster_nctarank", "cluster_nctaid"):
            return self.ctas if number == 0 else 1
        if name in ("clusterid", "nclusterid"):
            return (self.place_of_cluster if name == "clusterid" else self.clusters)[number]
        if name in ("ctaid", "nctaid"):
            value = (self.place_of_cluster if name == "ctaid" else self.clusters)[number]
            if number:
                return value
            return value * self.ctas + (self.cta[at] if name == "ctaid" else 0)
        return int(self.is_explicit_cluster) if name == "is_explicit_cluster" else None

    # -- addresses --------------------------------------------------------------------------------

    def _of(self, thread: int) -> str:
        """Of which CTA a thread is, where there are several."""
        return f" of CTA {self.cta[thread]}" if self.ctas > 1 and thread >= 0 else ""

    def sides(self, race: Race) -> tuple[str, str]:
        """Whose the two accesses of a race are, and whose the memory is."""
        other = self._of(32 * race.warp) if race.warp >= 0 else ""
        if self.ctas > 1 and race.place >= 0:
            other += f" in the memory of CTA {race.place // self.pitch}"
        return self._of(race.thread), other

    @staticmethod
    def in_window(address: np.ndarray) -> np.ndarray:
        return (address >= _WINDOW) & (address < _WINDOW + (_MOST_CTAS << _CTA_BITS))

    def _in_cta(self, address: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which CTAs threads mean by addresses, and which bytes there."""
        inside = self.in_window(address)
        rank = np.where(inside, address - _WINDOW >> _CTA_BITS, self.cta[at])
        return rank, np.where(inside, address & (1 << _CTA_BITS) - 1, address)

    def shared_place(self, address: np.ndarray, at: np.ndarray, is_of_cluster: bool = False,
                     is_arrival: bool = False) -> np.ndarray:  # fmt: skip
        """Where in the machine's shared memory the bytes are that threads mean; where they are
        another CTA's, this is a use of them (an arrival at an mbarrier is a use of its phase).
        """
        inside = self.in_window(address)
        if self.ctas == 1 and not inside.any():
            return address
        if inside.any() and not is_of_cluster:
            raise PtxError("an address of shared::cluster")
        rank, offset = self._in_cta(address, at)
        outside = (offset < 0) | (offset >= self.cta_bytes)
        if outside.any():
            raise PtxError(f"shared memory has {self.cta_bytes} bytes, found {offset.max()}")
        if (rank >= self.ctas).any():
            raise PtxError(f"the cluster has {self.ctas} CTAs, found CTA {rank.max()}")
        self._use(rank, at, is_arrival)
        return rank * self.pitch + offset

    def is_of_other(self, at: np.ndarray, place: int) -> np.ndarray:
        """Which threads are of another CTA than a place is."""
        return self.cta[at] != (place // self.pitch if self.ctas > 1 else 0)

    def targets(self, i: Instruction, thread: np.ndarray) -> list[tuple[int, int]]:
        """Where a copy of one thread goes, and the mbarriers that count its bytes."""
        to, where = (
            int(self.shared_place(self.address(i.operands[k], thread), thread, i.is_of_cluster,
                                  is_arrival=True)[0]) for k in (0, 2)
        )  # fmt: skip
        if self.ctas > 1 and to // self.pitch != where // self.pitch:
            raise PtxError("a copy to one CTA with an mbarrier of another one")
        if not i.has("multicast"):
            return [(to, where)]
        mask = int(self.get(i.operands[3], thread, "b16")[0]) & 0xFFFF
        if not mask or mask >> self.ctas:
            raise PtxError(f"copies to the CTAs {mask:#b} of {self.ctas}")
        ctas = np.array([cta for cta in range(self.ctas) if mask >> cta & 1])
        self._use(ctas, np.repeat(thread, len(ctas)), is_arrival=True)
        shifts = (ctas - to // max(self.pitch, 1)) * self.pitch
        return [(to + int(shift), where + int(shift)) for shift in shifts]

    def check_inside(self, place: np.ndarray, size: int) -> None:
        """All CTAs together have so many bytes."""
        bad = (place < 0) | (place >= size)
        if self.ctas > 1:
            bad |= place % self.pitch >= self.cta_bytes
        if bad.any():
            found = place[bad].max() % self.pitch if self.ctas > 1 else place.max()
            raise PtxError(f"shared memory has {self.cta_bytes} bytes, found {found}")

    def _use(self, rank: np.ndarray, at: np.ndarray, is_arrival: bool) -> None:
        other = rank != self.cta[at]
        if not other.any():
            return
        rank, at, clocks = rank[other], at[other], self.clocks
        if self.ended[rank].any():
            whose = rank[self.ended[rank]][0]
            raise PtxError(f"a use of the shared memory of CTA {whose}, which has ended")
        if not is_arrival:
            warp = clocks.warp[at]
            self.use_epoch[rank, warp], self.use_code[rank, warp] = clocks.now[warp], self.now
        knows = clocks.known[at, self.cluster_column] > 0
        for cta in np.unique(rank):
            known = clocks.known[at][:, self._warps(cta)].any(axis=1)
            if (~knows & ~known & (rank == cta)).any():
                self.early = int(cta)

    def check_begun(self) -> None:
        """After an instruction: a race that it is in says more."""
        if self.early >= 0:
            raise PtxError(f"a use of the shared memory of CTA {self.early}, which may not have "
                           "begun")  # fmt: skip

    def op_mapa(self, i: Instruction, at: np.ndarray) -> None:
        rank = self.get(i.operands[2], at, "b32").astype(np.int64)
        if (rank >= self.ctas).any():
            raise PtxError(f"the cluster has {self.ctas} CTAs, found CTA {rank.max()}")
        address = self.get(i.operands[1], at).astype(np.int64) & 0xFFFFFFFF
        if not i.has("shared") and not self.in_window(address).all():
            raise PtxError("a generic address outside of shared memory")
        offset = self._in_cta(address, at)[1]
        self.put(i.operands[0], at, (_WINDOW + (rank << _CTA_BITS) + offset).astype(np.uint64))

    def op_getctarank(self, i: Instruction, at: np.ndarray) -> None:
        address = self.get(i.operands[1], at).astype(np.int64) & 0xFFFFFFFF
        self.put(i.operands[0], at, self._in_cta(address, at)[0].astype(np.uint64))

    def op_cvta(self, i: Instruction, at: np.ndarray) -> None:
        values = self.get(i.operands[1], at)
        if i.has("shared") and not i.is_of_cluster:
            rank, offset = self._in_cta(values.astype(np.int64), at)
            if (rank != self.cta[at]).any():
                raise PtxError("an address of another CTA")
            values = offset if i.has("to") else offset + _WINDOW + (rank << _CTA_BITS)
        self.put(i.operands[0], at, values.astype(np.uint64))

    # -- barriers ---------------------------------------------------------------------------------

    def _warps(self, cta: int) -> slice:
        warps = self.cta_threads // 32
        return slice(cta * warps, (cta + 1) * warps)

    def meet(self, ctas: Iterable[int]) -> None:
        """All threads of these CTAs are at a barrier of their CTA."""
        for cta in ctas:
            self.clocks.block_barrier(self._warps(cta))
            self.barriers += 1

    def let_go_on(self) -> bool:
        """Lets the CTAs go on that wait at one barrier with all of their threads."""
        counter, waits = (x.reshape(self.ctas, -1) for x in (self.counter, self.waits))
        whole = waits.all(axis=1) & (counter == counter[:, :1]).all(axis=1)
        waits[whole] = False
        counter[whole] += 1
        self.meet(np.flatnonzero(whole))
        return bool(whole.any())

    def op_barrier(self, i: Instruction, at: np.ndarray) -> Any:
        """The cluster's; returns the threads that have to wait on."""
        if not len(at):
            return None
        if i.has("wait"):
            return self._wait_for_cluster(at)
        if self.arrived_for[at].any():
            raise PtxError("threads arrive twice at the cluster's barrier with no wait between")
        self.arrived_for[at], self.arrived[at] = self.cluster_phase + 1, True
        self.cluster_told = joined(self.cluster_told, self._told(at, i.has("relaxed")))
        return None

    def _told(self, at: np.ndarray, is_relaxed: bool) -> np.ndarray:
        clocks = self.clocks
        told = clocks.published(at)
        if is_relaxed:
            told, width = happened(told), self.released.shape[1]
            if width:
                told[0, :width] = self.released[at].max(axis=0)
            return told
        for warp in np.unique(clocks.warp[at]):  # the last lanes speak for those before
            of_warp = clocks.warp == warp
            if not of_warp[at].all() and (self.arrived | self.done)[of_warp].all():
                told[::2, warp] = clocks.now[warp]
                clocks.now[warp] += 1
        return told

    def _wait_for_cluster(self, at: np.ndarray) -> np.ndarray:
        phases = self.arrived_for[at]
        if (phases == 0).any():
            raise PtxError("a wait at the cluster's barrier with no arrival before")
        if (phases > self.cluster_phase).any():
            if self._missing().any():
                return at
            self.cluster_phase += 1
            self.cluster_learned = joined(self.cluster_told, self.clocks.nothing())
            self.cluster_learned[::2, self.cluster_column] = self.cluster_phase
            self.cluster_told = self.clocks.nothing()
            self.arrived[:] = False
        self.arrived_for[at] = 0
        self.clocks.learn(at, self.cluster_learned)
        return at[:0]

    def _missing(self) -> np.ndarray:
        """Who has not arrived. Threads that have ended do not count, but CTAs that have do."""
        is_gone = (self.done & ~self.arrived).reshape(self.ctas, -1).all(axis=1)
        return ~(self.arrived | self.done) | is_gone[self.cta]

    def why(self, i: Instruction) -> str:
        """What a wait that nothing ends waits for."""
        if i.opcode != "barrier":
            return ""
        thread = int(np.flatnonzero(self._missing())[0])
        cta = self.cta[thread]
        if self.done[thread]:
            return f": CTA {cta} has ended"
        text = self.code[int(self.counter[thread])].text
        return f": thread {thread % self.cta_threads} of CTA {cta} is at '{text}'"

    def op_fence(self, i: Instruction, at: np.ndarray) -> None:
        """What a fence of the cluster's scope or a wider one tells by later relaxed arrivals."""
        is_wide = i.has("cluster", "gpu", "gl", "sys")
        if not is_wide or i.has("proxy", "mbarrier_init") or self.ctas == 1:
            return
        clocks = self.clocks
        known = np.zeros_like(clocks.known)
        known[:, : self.released.shape[1]] = self.released
        known[at] = np.maximum(known[at], clocks.published(at)[0] if len(at) else 0)
        self.released = known

    op_membar = op_fence

    # -- ends -------------------------------------------------------------------------------------

    def note_ends(self) -> None:
        """Threads have ended, perhaps the last ones of their CTAs."""
        over = self.done.reshape(self.ctas, -1).all(axis=1) & ~self.ended
        for cta in np.flatnonzero(over):
            self.check_end(int(cta), self.clocks.known[self.cta == cta].max(axis=0))
            self.ended[cta] = True

    def check_end(self, cta: int, known: np.ndarray) -> None:
        """Whether a CTA that knows so much of others may end."""
        late = self.use_epoch[cta] > known[: self.clocks.warps]
        if late.any():
            warp = int(np.flatnonzero(late)[0])
            self.raise_end(cta, int(self.use_code[cta, warp]), warp)

    def raise_end(self, cta: int, code: int, warp: int) -> None:
        text = f"'{self.code[code].text}'{self._of(32 * warp)}"
        raise PtxError(f"CTA {cta} may have ended before {text} uses its shared memory")
