"""Who knows what in a program: happens-before by vector clocks, for the machine of ptx_machine.py.

Every warp has a clock, and every mbarrier one that counts its phases. A thread knows of each clock
how far it has come; block barriers, bar.warp.sync and waits for mbarriers are where threads come to
know more. A byte of shared memory keeps its last write and each warp's last read, as the clock they
came under; an access that does not know of an earlier one that it conflicts with is a race. What is
asynchronous is under way from its begin, known by nobody, until its end. A thread knows its own
accesses, those of the other lanes only after a barrier.

What a thread knows to be visible to the asynchronous proxy is a second set of clocks: what it knew
at its last fence.proxy.async, or what others tell it that had.

In a cluster there are both once more for what has only happened before: where one CTA tells another
with no release, or one of a narrower scope, its own memory may be overwritten that it has read, but
what it wrote need not be seen.
"""

from __future__ import annotations

import numpy as np

UNDER_WAY = 1 << 30  # later than what anybody knows
_SEVERAL = -2  # readers


class Race(AssertionError):
    """Two accesses in no order: what the later one finds, the earlier one's place in the code, and
    where they are known a thread of the later one, the warp of the earlier one, and the byte."""

    def __init__(
        self, text: str, code: int, thread: int = -1, warp: int = -1, place: int = -1
    ) -> None:
        super().__init__(text)
        self.code, self.thread, self.warp, self.place = code, thread, warp, place


def happened(told: np.ndarray) -> np.ndarray:
    """What is told with no release."""
    told = told.copy()
    told[:2] = 0
    return told


def joined(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """What two have told; there may have been fewer clocks when the first one did."""
    result, width = b.copy(), a.shape[1]
    result[:, :width] = np.maximum(result[:, :width], a)
    return result


class Clocks:
    """`rows` holds what each thread knows, and what of it is fenced: first seen, then happened,
    which are one in a program of one CTA."""

    def __init__(self, threads: int, ctas: int = 1) -> None:
        self.warp = np.arange(threads) // 32
        self.warps = int(self.warp[-1]) + 1
        self.now = np.ones(self.warps, np.int64)
        self.warps_of_cta = self.warps // ctas
        self.rows = np.zeros((2 if ctas == 1 else 4, threads, self.warps + 8), np.int64)
        self.columns = self.warps
        # Of each thread its warp's clock at its last fence, and when it last read or wrote.
        self.own_fence = np.zeros(threads, np.int64)
        self.last_access = np.zeros(threads, np.int64)

    @property
    def known(self) -> np.ndarray:
        return self.rows[0]

    @property
    def fenced(self) -> np.ndarray:
        return self.rows[1]

    @property
    def before(self) -> np.ndarray:
        """What has happened before."""
        return self.rows[-2]

    def new_column(self) -> int:
        """A clock of an mbarrier."""
        if self.columns == self.rows.shape[2]:
            self.rows = np.concatenate([self.rows, np.zeros_like(self.rows)], axis=2)
        self.columns += 1
        return self.columns - 1

    def nothing(self) -> np.ndarray:
        """What an mbarrier's phase begins with."""
        return np.zeros((len(self.rows), self.rows.shape[2]), np.int64)

    def block_barrier(self, warps: slice) -> None:
        """Of the CTA that has these warps."""
        at = slice(32 * warps.start, 32 * warps.stop)
        self.rows[:, at] = self.rows[:, at].max(axis=1, keepdims=True)
        self.rows[::2, at, warps] = self.now[warps]
        self.now[warps] += 1

    def warp_barrier(self, at: np.ndarray) -> None:
        for warp in np.unique(self.warp[at]):
            lanes = at[self.warp[at] == warp]
            self.rows[:, lanes] = self.rows[:, lanes].max(axis=1, keepdims=True)
            self.rows[::2, lanes, warp] = self.now[warp]
            self.now[warp] += 1

    def fence(self, at: np.ndarray) -> None:
        """Of what a warp did itself, all is fenced up to where a lane goes on without a fence."""
        self.rows[1::2, at] = np.maximum(self.rows[1::2, at], self.rows[::2, at])
        for warp in np.unique(self.warp[at]):
            now = self.now[warp]
            lanes, all_lanes = at[self.warp[at] == warp], self.warp == warp
            self.own_fence[lanes] = now
            fences = self.own_fence[all_lanes]
            is_open = self.last_access[all_lanes] > fences
            covered = np.where(is_open, fences, now).min()
            fenced = np.maximum(self.rows[1::2, lanes, warp], covered)
            self.rows[1::2, lanes, warp] = fenced
            self.now[warp] += 1

    def published(self, at: np.ndarray) -> np.ndarray:
        """What threads tell when they arrive: all that they did only where a whole warp does."""
        found = self.rows[:, at].max(axis=1)
        for warp in np.unique(self.warp[at]):
            if (self.warp[at] == warp).sum() == 32:
                found[::2, warp] = self.now[warp]
                self.now[warp] += 1
        return found

    def learn(self, at: np.ndarray, told: np.ndarray) -> None:
        width = told.shape[1]
        self.rows[:, at, :width] = np.maximum(self.rows[:, at, :width], told[:, None])


class Memory:
    """Bytes, each with its last write and each warp's last read."""

    def __init__(self, size: int, clocks: Clocks, pitch: int = 1 << 60) -> None:
        """`pitch` is the distance of the parts of CTAs."""
        self.pitch = pitch
        self.data = np.full(size, 0xA5, np.uint8)
        self.is_written = np.zeros(size, bool)
        self.clocks = clocks
        self.column = np.zeros(size, np.int64)
        self.epoch = np.zeros(size, np.int64)
        self.writer = np.full(size, -1)
        self.write_code = np.zeros(size, np.int64)
        count = size * clocks.warps  # a row for each byte
        self.read_epoch = np.zeros(count, np.int32)
        self.reader = np.zeros(count, np.int16)
        self.read_code = np.zeros(count, np.int32)
        self.generic_epoch = np.zeros(count, np.int32)  # of reads that are not asynchronous

    def _check_writes(
        self, known: np.ndarray, place: np.ndarray, who: np.ndarray, what: str
    ) -> None:
        """`known` has a row for each of `place`, or is one for all."""
        column, epoch = self.column[place], self.epoch[place]
        late = (known[who, column] if known.ndim == 2 else known[column]) < epoch
        if late.any():
            late &= self.writer[place] != who
        if late.any():
            first = int(np.flatnonzero(late)[0])
            warp, thread = int(column[first]), int(who[first % len(who)])
            raise Race(f"a {what} of what another thread has just written",
                       int(self.write_code[place[first]]), thread,
                       warp if warp < self.clocks.warps else -1, int(place[first]))  # fmt: skip

    def _need_data(self, place: np.ndarray, who: np.ndarray) -> None:
        empty = ~self.is_written[place]
        if empty.any():
            number = int(np.flatnonzero(empty)[0])
            first, thread = int(place[number]), int(who[number % len(who)])
            begun = self.epoch[first] == UNDER_WAY
            raise Race("a read of what nobody has written",
                       int(self.write_code[first]) if begun else -1, thread, -1, first)  # fmt: skip

    def read(self, place: np.ndarray, at: np.ndarray, code: int, is_known: bool = False) -> None:
        """Threads read rows of bytes; what these hold they may know from elsewhere."""
        who = np.repeat(at, place.shape[1])
        place = place.reshape(-1)
        clocks = self.clocks
        self._need_data(place, who)
        if not is_known:
            self._check_writes(clocks.known, place, who, "read")
        warp = clocks.warp[who]
        key = place * clocks.warps + warp
        old, now = self.read_epoch[key], clocks.now[warp]
        several = (old > clocks.known[who, warp]) & (self.reader[key] != who)
        self.reader[key] = who
        several |= self.reader[key] != who
        if several.any():
            self.reader[key[several]] = _SEVERAL
        self.read_epoch[key] = np.maximum(old, now)
        self.generic_epoch[key] = now
        self.read_code[key] = code
        clocks.last_access[at] = clocks.now[clocks.warp[at]]

    def _check_reads(self, place: np.ndarray, at: np.ndarray) -> None:
        """Before threads write rows of bytes: each CTA's own reads need only have happened."""
        clocks, size = self.clocks, place.shape[1]
        flat = place.reshape(-1)
        epochs = self.read_epoch.reshape(-1, clocks.warps)[flat]
        rows = epochs.reshape(len(place), size, clocks.warps)
        late = rows > clocks.known[at, None, : clocks.warps]
        if not late.any():
            return
        row, byte, warp = np.nonzero(late)
        key = place[row, byte] * clocks.warps + warp
        bad = (self.reader[key] != at[row]) | (self.read_epoch[key] == UNDER_WAY)
        is_own = place[row, byte] // self.pitch == warp // clocks.warps_of_cta
        bad &= ~is_own | (self.read_epoch[key] > clocks.before[at[row], warp])
        if bad.any():
            raise Race("a write of what another thread has just read",
                       int(self.read_code[key[bad]][0]), int(at[row[bad][0]]),
                       int(warp[bad][0]), int(place[row, byte][bad][0]))  # fmt: skip

    def write(self, place: np.ndarray, at: np.ndarray, code: int) -> None:
        """Threads write rows of bytes."""
        self._write(place, at, code)
        self.clocks.last_access[at] = self.clocks.now[self.clocks.warp[at]]

    def _write(self, place: np.ndarray, at: np.ndarray, code: int, is_copy: bool = False) -> None:
        flat, who = place.reshape(-1), np.repeat(at, place.shape[1])
        known = self.clocks.known
        if is_copy and len(self.clocks.rows) > 2:  # over other copies that have come
            known = known.copy()
            known[:, self.clocks.warps :] = self.clocks.before[:, self.clocks.warps :]
        self._check_writes(known, flat, who, "write")
        self._check_reads(place, at)
        self.writer[flat] = who
        if (self.writer[flat] != who).any():
            raise Race("two threads store the same byte", code)
        self.column[flat] = warp = self.clocks.warp[who]
        self.epoch[flat] = self.clocks.now[warp]
        self.write_code[flat] = code

    def begin_write(self, place: np.ndarray, at: np.ndarray, code: int) -> None:
        """Copies to rows of bytes begin: nobody knows what they hold."""
        self._write(place, at, code, is_copy=True)
        flat = place.reshape(-1)
        self.writer[flat], self.epoch[flat] = -1, UNDER_WAY
        self.is_written[flat] = False

    def land(self, place: np.ndarray, data: np.ndarray, column: int, epoch: int) -> None:
        """Copies have come; who knows that `column` has come to `epoch` may use them."""
        self.data[place], self.is_written[place] = data, True
        self.writer[place], self.column[place], self.epoch[place] = -1, column, epoch

    def land_for(self, place: np.ndarray, data: np.ndarray, at: np.ndarray) -> None:
        """The copies to rows of bytes have come for the threads that began them."""
        self.data[place], self.is_written[place] = data, True
        self.writer[place] = at[:, None]
        self.column[place] = warp = self.clocks.warp[at][:, None]
        self.epoch[place] = self.clocks.now[warp]

    def hold(self, place: np.ndarray, team: np.ndarray, code: int) -> None:
        """The asynchronous proxy reads bytes for a team from now on, which all of it knows."""
        place = place.reshape(-1)
        self._need_data(place, team[:1])
        self._check_writes(self.clocks.known[team].min(axis=0), place, team[:1], "read")
        self.keep(place, team, code)

    def keep(self, place: np.ndarray, team: np.ndarray, code: int) -> None:
        """Marks bytes as read from now on."""
        place = place.reshape(-1)
        for warp in np.unique(self.clocks.warp[team]):
            key = place * self.clocks.warps + warp
            self.read_epoch[key], self.read_code[key] = UNDER_WAY, code

    def need_fence_of_reads(self, place: np.ndarray, thread: int) -> None:
        """Before the asynchronous proxy overwrites for a thread what threads may have read."""
        clocks = self.clocks
        epochs = self.generic_epoch.reshape(-1, clocks.warps)[place.reshape(-1)]
        fenced = clocks.rows[-1, thread, : clocks.warps]
        late = np.argwhere(epochs > fenced)
        if len(late):
            key = place.reshape(-1)[late[0, 0]] * clocks.warps + late[0, 1]
            text = "TMA writes over what was read before no fence.proxy.async"
            raise Race(text, int(self.read_code[key]), thread, int(late[0, 1]))

    def let_go(self, place: np.ndarray, team: np.ndarray) -> None:
        place = place.reshape(-1)
        for warp in np.unique(self.clocks.warp[team]):
            key = place * self.clocks.warps + warp
            self.read_epoch[key], self.reader[key] = self.clocks.now[warp], _SEVERAL

    def is_fenced(self, place: np.ndarray, team: np.ndarray) -> np.ndarray:
        """Which writes of bytes the asynchronous proxy sees for a team, if they were generic."""
        place = place.reshape(-1)
        return self.clocks.fenced[team].min(axis=0)[self.column[place]] >= self.epoch[place]
