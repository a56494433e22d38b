"""A machine for PTX without a GPU: the threads of a program as NumPy vectors.

For tests of what the compiler makes of layouts: who holds which element, who writes where. Threads
run at the lowest program counter first, so they meet again after branches as on the hardware; a
Schedule lets some run ahead. Every byte of shared memory knows who read and wrote it (see
ptx_clocks.py), so a missing barrier is an error, and so are memory that was never written and a
store of one byte by two threads. Arithmetic is that of the instructions that integer code needs,
and some of floats.
"""

from __future__ import annotations

import collections
import functools
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from ptx_arithmetic import Arithmetic
from ptx_clocks import Clocks, Memory, Race
from ptx_cluster_machine import Clusters
from ptx_instruction import Instruction, NotInMachine, PtxError
from ptx_numbers import bits_of, raw, typed

GLOBAL_BASE = 1 << 20
PARAMETER_BASE = 1 << 48  # each parameter has 4096 bytes
_SECONDS = 20e-6  # that an instruction takes at least
_MOST_STEPS = 2_000_000  # of one program
_ALL = {size: int.from_bytes(b"\1" * size, "little") for size in (1, 2, 4, 8)}

#: What changes the results of instructions, and which of them obey it here.
OBEYED = {"relu": ("min", "max", "fma"), "sat": ("cvt",)}

np.seterr(all="ignore")


@functools.cache
def _address(text: str) -> tuple[str, int]:
    """Of an address in brackets the register or name, and the bytes behind it."""
    match = re.fullmatch(r"\[\s*([^+\s\]]+)\s*(?:\+\s*(-?\d+))?\s*\]", text)
    assert match is not None, text
    return match[1], int(match[2] or 0)


class OutOfTime(Exception):
    """The programs take longer than they may."""


@dataclass(frozen=True)
class Place:
    """An argument that points into an array: so many bytes behind its first one."""

    array: np.ndarray
    offset: int


class Schedule:
    """Who runs next among the threads that can: all that are at the lowest program counter, or,
    with `first`, those of this warpgroup as long as one can go on. With a seed: warps in an order
    that is drawn anew now and then, when threads look again whether their waits are over, too.
    """

    def __init__(self, first: int | None = None, seed: int | None = None) -> None:
        self.first = first
        self.random = None if seed is None else np.random.default_rng(seed)
        self.looks_again = False
        self.rank = np.zeros(1, int)
        self.steps = 0 if self.random else _MOST_STEPS  # until the order is drawn anew

    def choose(self, ready: np.ndarray, warps: np.ndarray) -> np.ndarray:
        self.looks_again = False
        if self.random is not None:
            if len(self.rank) <= warps[-1] or self.steps <= 0:
                self.rank = self.random.permutation(warps[-1] + 1) // self.random.integers(1, 5)
                self.looks_again, self.steps = True, int(self.random.geometric(0.01))
            rank = self.rank[warps]
        elif self.first is not None:
            rank = (warps // 4 != self.first).astype(int)
        else:
            return ready
        return ready & (rank == rank[ready].min())


class Machine(Clusters, Arithmetic):
    """The threads are those of all CTAs of a cluster, which `num_ctas` launches together where the
    PTX does not say it (see ptx_cluster_machine.py)."""

    def __init__(self, ptx: str, num_warps: int, num_ctas: int | None = None) -> None:
        self._read_cluster(ptx, num_warps, num_ctas)
        self.warps = np.arange(self.threads) // 32
        self.code: list[Instruction] = []
        self.unread: set[str] = set()  # registers that one instruction names
        self.labels: dict[str, int] = {}
        self.tables: dict[str, list[str]] = {}  # labels to branch to, by number
        self.parameters: list[tuple[str, int]] = []
        self.symbols: dict[str, tuple[int, bytes]] = {}
        self.depots: dict[str, int] = {}  # names in local memory, and where they begin
        self.local_bytes = 0  # of each thread
        self.barriers = 0
        self.schedule = Schedule()
        self.seconds = float("inf")  # that a run may take
        self.scratch = 0  # bytes that each CTA has in the last parameter's memory
        self._handlers: dict[int, Callable[..., Any]] = {}  # by the number of the instruction
        self.stores_once = True  # else several threads may store one value to one place
        self._read(ptx)

    # -- program ----------------------------------------------------------------------------------

    def _read(self, ptx: str) -> None:
        ptx = re.sub(r"//[^\n]*", "", ptx)
        address = 4096
        for match in re.finditer(
            r"\.global\s+\.align\s+\d+\s+\.b(\d+)\s+([\w$]+)\[(\d+)\](?:\s*=\s*\{([^}]*)\})?", ptx
        ):
            size = int(match[1]) // 8
            values = [int(x, 0) for x in (match[4] or "").replace(" ", "").split(",") if x]
            words = [(v % (1 << 8 * size)).to_bytes(size, "little") for v in values]
            data = b"".join(words).ljust(int(match[3]) * size, b"\0")
            self.symbols[match[2]] = (address, data)
            address += (len(data) + 255) // 256 * 256
        entry = ptx[ptx.index(".entry") :]
        head, body = entry.split("{", 1)
        half = re.sub(r"\.align\s+2\s+\.b8(\s+\w+)\[2\]", r".b16\1", head)  # fp16 and bf16
        for match in re.finditer(r"\.param\s+\.(\w+)(?:\s+\.ptr[^,)]*?)?\s+(\w+)\s*[,)\n]", half):
            self.parameters.append((match[2], bits_of(match[1]) // 8))
        depth = 1
        for brace in re.finditer(r"[{}]", body):  # assembly has scopes, on lines of their own, too
            depth += 1 if brace[0] == "{" else -1
            if depth == 0:
                body = body[: brace.start()]
                break
        named = collections.Counter(
            re.findall(r"%\w+", re.sub(r"(?m)^\s*\.reg\b[^\n]*$", "", body))
        )
        self.unread = {name for name, count in named.items() if count == 1}
        # LLVM's half of a 64-bit register.
        body = re.sub(r"\{\s*\.reg \.b\d+ tmp;\s*(mov[^;]*;)\s*\}", r"\1", body)
        for match in re.finditer(r"\.local\s+\.align\s+\d+\s+\.b8\s+(\w+)\[(\d+)\]", body):
            self.depots[match[1]] = self.local_bytes
            self.local_bytes += (int(match[2]) + 15) // 16 * 16
        body = re.sub(r"(?m)^\s*\.(loc|local|shared|pragma|file)\b[^\n]*$", "", body)
        scopes: list[dict[str, str]] = [{}]  # names of registers in assembly, and ours for them
        for piece in re.split(r";|(?<=:)\n|\n(?=\$)", body):
            piece = piece.strip()
            while match := re.match(r"(\$\w+):\s*|[{}]\s*", piece):
                if match[1]:
                    label = match[1]
                    self.labels[label] = len(self.code)
                elif match[0][0] == "{":
                    scopes.append({})
                else:
                    scopes.pop()
                piece = piece[match.end() :]
            if match := re.match(r"\.reg\s+\.\w+\s+", piece):
                for name in re.findall(r"(?<![\w%$])[a-zA-Z_]\w*", piece[match.end() :]):
                    scopes[-1][name] = f"%{name}.{len(self.code)}"
            elif piece.startswith(".branchtargets"):
                self.tables[label] = re.findall(r"\$\w+", piece)
            elif piece:
                names = {name: ours for scope in scopes for name, ours in scope.items()}
                for name, ours in names.items():
                    piece = re.sub(rf"(?<![\w%$.]){name}\b", ours, piece)
                self.code.append(Instruction(piece, len(self.code)))

    # -- running ----------------------------------------------------------------------------------

    def run(self, grid: tuple[int, int, int], arguments: Iterable[Any], shared_bytes: int,
            is_sample: bool = False) -> None:  # fmt: skip
        """Runs all programs in turn, each a cluster; arrays among the arguments, and those that
        Places are in, are changed in place. Those that begin at one address are one. Of a sample as
        many programs run as time allows, from all over the grid. Each CTA has `shared_bytes`.

        Errors: PtxError, or OutOfTime as soon as that is to be expected, of a sample when not even
        one program ends; the arrays stay as they are.
        """
        memory = bytearray(b"\0" * 65536)
        for address, data in self.symbols.values():
            memory[address : address + len(data)] = data
        arrays: list[tuple[int, np.ndarray]] = []
        values: list[bytes] = []
        arguments = list(arguments)
        if self.scratch:
            count = int(np.prod(grid)) * self.ctas
            arguments.append(np.full(count * self.scratch, 0xA5, np.uint8))
        for (_, size), argument in zip(self.parameters, arguments, strict=True):
            if isinstance(argument, np.ndarray):
                argument = Place(argument, 0)
            if isinstance(argument, Place):
                array = argument.array
                known = [at for at, other in arrays if other.ctypes.data == array.ctypes.data]
                if known and array.nbytes:
                    start = known[0]
                else:
                    start = len(memory) + 64
                    start -= start % 256 - 256
                    memory.extend(b"\0" * (start - len(memory)) + array.tobytes())
                    arrays.append((start, array))
                values.append((GLOBAL_BASE + start + argument.offset).to_bytes(8, "little"))
            else:
                values.append(np.asarray(argument).tobytes().ljust(size, b"\0")[:size])
        self.values = dict(zip((name for name, _ in self.parameters), values))
        memory.extend(b"\0" * (256 + -len(memory) % 256))
        self.memory = np.frombuffer(memory, np.uint8).copy()
        self.is_given = np.zeros(len(memory), bool)  # whether a byte belongs to anybody
        self.is_given[:65536] = True
        for start, array in arrays:
            self.is_given[start : start + array.nbytes] = True
        self.is_stored = np.zeros(len(memory), bool)
        self.starts = {array.ctypes.data: start for start, array in arrays}
        self._run_programs(grid, self._lay_out(shared_bytes), is_sample)
        for start, array in arrays:
            found = self.memory[start : start + array.nbytes].tobytes()
            array[...] = np.frombuffer(found, array.dtype).reshape(array.shape)

    def _run_programs(self, grid: tuple[int, int, int], shared: int, is_sample: bool) -> None:
        programs = list(np.ndindex(grid[::-1]))
        self.programs, self.begun = 0, time.process_time()
        if is_sample:
            np.random.default_rng(len(programs)).shuffle(programs)
        elif len(programs) * len(self.code) * _SECONDS > self.seconds:
            raise OutOfTime(f"{len(programs)} programs of {len(self.code)} instructions")
        for z, y, x in programs:
            spent = time.process_time() - self.begun
            expected = spent * ((self.programs + 1) / max(self.programs, 1) if is_sample else
                                len(programs) / max(self.programs, 1))  # fmt: skip
            if self.programs and expected > self.seconds:
                if is_sample:
                    break
                text = f"{len(programs)} programs, {self.programs} took {spent:.1f} s"
                raise OutOfTime(text)
            self._run_program((x, y, z), grid, shared)
            self.programs += 1

    def stored(self, array: np.ndarray) -> np.ndarray:
        """Which bytes of an argument the programs have stored."""
        start = self.starts[array.ctypes.data]
        return self.is_stored[start : start + array.nbytes]

    def _run_program(self, program: tuple[int, ...], grid: tuple[int, ...], shared: int) -> None:
        self.clocks = Clocks(self.threads, self.ctas)
        self.shared = Memory(shared, self.clocks, max(self.pitch, 1))
        self.local = np.zeros((self.threads, self.local_bytes), np.uint8)
        self.now = -1  # which instruction runs
        self.registers: dict[str, np.ndarray] = {}
        thread = np.arange(self.threads, dtype=np.uint64)
        self.registers["%tid.x"] = thread % np.uint64(self.cta_threads)
        self.timer = 0
        self.registers["%laneid"] = thread % np.uint64(32)
        self.counter = np.zeros(self.threads, int)
        self.done = np.zeros(self.threads, bool)
        self.waits = np.zeros(self.threads, bool)  # at a barrier of the program
        self.meets = np.zeros(self.threads, bool)  # at an instruction that its whole warp executes
        self.stalled = np.zeros(self.threads, bool)  # until something else has happened
        self._begin_cluster(program, grid)
        self.steps, is_retry = 0, False
        while True:
            if self.schedule.looks_again:
                self.stalled[:] = False
            ready = ~(self.done | self.waits | self.meets | self.stalled)
            if ready.any():
                is_retry &= not self._run_some(self.schedule.choose(ready, self.warps))
            elif self.let_go_on():
                is_retry = False
            elif self.stalled.any():
                if is_retry:
                    instruction = self.code[int(self.counter[self.stalled].min())]
                    text = f"nothing ends the wait of '{instruction.text}'"
                    raise PtxError(text + self.why(instruction))
                self.stalled[:], is_retry = False, True
            elif self.meets.any():
                text = self.code[int(self.counter[self.meets].min())].text
                raise PtxError(f"not all lanes of a warp are at '{text}'")
            elif self.done.all():
                return
            else:
                raise PtxError("threads wait at different barriers")

    def _run_some(self, chosen: np.ndarray) -> bool:
        """Runs those of the chosen threads that are at the lowest program counter, until they part,
        wait, reach others or have run long enough; returns whether they came further.
        """
        counters = self.counter[chosen]
        counter = int(counters.min())
        later = counters[counters > counter]
        limit = int(later.min()) if len(later) else len(self.code) + 1
        here = np.flatnonzero(chosen & (self.counter == counter))
        steps = max(self.schedule.steps, 1)
        instruction = self.code[counter]
        if instruction.is_of_warp and not self._is_whole(here, instruction):
            here, steps = self._gathered(here, counter, instruction), 1
            if not len(here):
                return False
        before = self.steps
        is_further = self._run_together(here, counter, limit, steps)
        self.schedule.steps -= self.steps - before
        return is_further

    @staticmethod
    def _team_size(instruction: Instruction) -> int:
        """Of how many threads the teams are that execute an instruction of warps together."""
        return 128 if instruction.opcode == "wgmma" else 32

    def _is_whole(self, here: np.ndarray, instruction: Instruction) -> bool:
        """Whether threads are all of their teams that are not done."""
        if len(here) == self.threads:
            return True
        size = self._team_size(instruction)
        teams = here // size
        alive = np.bincount(np.flatnonzero(~self.done) // size)
        return bool((np.bincount(teams, minlength=len(alive)) == alive)[teams].all())

    def _gathered(self, here: np.ndarray, counter: int, instruction: Instruction) -> np.ndarray:
        """The threads of whole teams at an instruction of warps; the others of their teams wait.
        Those of a warpgroup come one by one, those of a warp together.
        """
        team = np.arange(self.threads) // self._team_size(instruction)
        is_at = self.counter == counter
        away = np.unique(team[~self.done & ~is_at])
        at = is_at & np.isin(team, team[here])
        self.meets[at] = np.isin(team[at], away)
        return np.flatnonzero(at & ~self.done & ~self.waits & ~self.meets)

    def _run_together(self, here: np.ndarray, counter: int, limit: int, steps: int) -> bool:
        """Runs threads that are at one instruction, at most so many steps and not beyond `limit`,
        as long as they stay together; returns whether one came further.
        """
        start = self.steps
        while counter < limit and self.steps < start + steps:
            self._count_a_step()
            instruction = self.code[counter]
            opcode = instruction.opcode
            if instruction.is_barrier:
                if len(here) < self.threads:
                    self.waits[here] = True
                    break
                self.meet(range(self.ctas))
                counter += 1
                continue
            if instruction.is_of_warp and self.steps > start + 1:
                if not self._is_whole(here, instruction):
                    break
            active = self._active(instruction, here)
            if opcode == "bra":
                target = self.labels[instruction.operands[0]]
                if len(active) not in (0, len(here)):
                    self.counter[here] = counter + 1
                    self.counter[active] = target
                    return True
                counter = target if len(active) else counter + 1
                continue
            if opcode == "brx":
                self.counter[here] = counter + 1
                self.counter[active] = self._targets(instruction, active)
                return True
            if opcode in ("ret", "exit"):
                self.done[active] = True
                counter += 1
                if self.ctas > 1:
                    self.note_ends()
                if len(active):
                    break
                continue
            stuck = self._step(instruction, here, active)
            if stuck is not None and len(stuck):
                self.stalled[stuck] = True
                self.counter[stuck] = counter
                here = np.setdiff1d(here, stuck)
                self.counter[here] = counter + 1
                return self.steps > start + 1 or len(here) > 0
            counter += 1
        self.counter[here] = counter
        return True

    def _targets(self, instruction: Instruction, at: np.ndarray) -> np.ndarray:
        """Where threads branch to by number."""
        targets = [self.labels[name] for name in self.tables[instruction.operands[1]]]
        numbers = self.get(instruction.operands[0], at, "b32")
        if (numbers >= len(targets)).any():
            raise PtxError(f"'{instruction.text}': {len(targets)} targets, found {numbers.max()}")
        return np.array(targets)[numbers]

    def _count_a_step(self) -> None:
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise PtxError("the program does not end")
        if self.steps % 1024 == 0 and time.process_time() - self.begun > self.seconds:
            raise OutOfTime(
                f"the time is over in program {self.programs}, at its step {self.steps}"
            )

    def _active(self, instruction: Instruction, here: np.ndarray) -> np.ndarray:
        if instruction.predicate is None:
            return here
        condition = self.registers[instruction.predicate][here] != 0
        return here[~condition if instruction.is_negated else condition]

    def _step(self, instruction: Instruction, here: np.ndarray, active: np.ndarray) -> Any:
        """Executes one instruction; returns the threads that it lets wait."""
        if len(active) < len(here) and instruction.is_of_warp:
            lanes = np.isin(self.warps, self.warps[here]) & ~self.done
            if lanes.sum() != len(active):
                raise PtxError(f"not all lanes of a warp are at '{instruction.text}'")
        handler = self._handlers.get(instruction.number)
        if handler is None:
            handler = self._handler(instruction)
        self.now = instruction.number
        try:
            stuck = handler(instruction, active)
            self.check_begun()
            return stuck
        except Race as race:
            later, other = self.sides(race)
            earlier = f" by '{self.code[race.code].text}'" if race.code >= 0 else ""
            raise PtxError(f"'{instruction.text}'{later}: {race}{earlier}{other}") from race
        except (PtxError, ValueError, KeyError, IndexError, TypeError) as error:
            raise PtxError(f"'{instruction.text}': {error!r}") from error

    def _handler(self, instruction: Instruction) -> Callable[..., Any]:
        handler: Callable[..., Any] | None = getattr(self, f"op_{instruction.opcode}", None)
        if handler is None or any(
            instruction.has(part) and instruction.opcode not in opcodes
            for part, opcodes in OBEYED.items()
        ):
            raise NotInMachine(f"no instruction '{instruction.text}'")
        self._handlers[instruction.number] = handler
        return handler

    # -- operands ---------------------------------------------------------------------------------

    def get(self, text: str, at: np.ndarray, kind: str = "b64") -> np.ndarray:
        """The raw values of an operand in the threads `at`."""
        values = self.registers.get(text)
        if values is not None:
            return values.copy() if len(at) == self.threads else values[at]
        if text.startswith("%") and not text.startswith("%SP"):
            if text in ("%ntid.x",):
                return np.full(len(at), self.cta_threads, np.uint64)
            if text == "%nwarpid":
                return np.full(len(at), 64, np.uint64)
            special = self.special(text, at)
            if special is not None:
                return np.zeros(len(at), np.uint64) + np.asarray(special, np.uint64)
            if text == "%globaltimer":
                self.timer += 10  # ns for each look
                return np.full(len(at), self.timer, np.uint64)
            return np.zeros(len(at), np.uint64)
        if text.startswith(("0f", "0d")):
            value = int(text[2:], 16)
        elif text.startswith("shared_memory"):
            value = int(text.removeprefix("shared_memory") or 0)
        elif text in self.symbols:
            value = GLOBAL_BASE + self.symbols[text][0]
        elif text in self.depots:
            value = self.depots[text]
        elif text in self.values:
            value = PARAMETER_BASE + (list(self.values).index(text) << 12)
        elif text in ("true", "false"):
            value = int(text == "true")
        else:
            value = int(text.rstrip("U"), 0) & ((1 << bits_of(kind)) - 1)
        return np.full(len(at), value, np.uint64)

    def number(self, text: str, at: np.ndarray, kind: str) -> np.ndarray:
        return typed(self.get(text, at, kind), kind)

    def put(self, text: str, at: np.ndarray, values: np.ndarray) -> None:
        if text == "_":
            return
        if text not in self.registers:
            self.registers[text] = np.zeros(self.threads, np.uint64)
        self.registers[text][at] = values if values.dtype == np.uint64 else raw(values)

    def address(self, text: str, at: np.ndarray) -> np.ndarray:
        base, offset = _address(text)
        start = self.get(base, at).astype(np.int64) + offset
        return start & 0xFFFFFFFF  # shared addresses have 32 bits; global ones are small here

    # -- memory -----------------------------------------------------------------------------------

    def read(self, space: str, address: np.ndarray, at: np.ndarray, size: int) -> np.ndarray:
        if (address % size).any():
            raise PtxError("a misaligned address")
        if space == "global":
            return self.memory.view(f"u{size}")[self._global_words(address, size)].astype(np.uint64)
        place = address[:, None] + np.arange(size)
        if space == "local":
            return self.local[at[:, None], place].view(f"u{size}")[:, 0].astype(np.uint64)
        self._note(place, at, "read")
        data = self.shared.data[place]
        return np.ascontiguousarray(data).view(f"u{size}")[:, 0].astype(np.uint64)

    def write(self, space: str, address: np.ndarray, at: np.ndarray, size: int,
              values: np.ndarray, atomic: bool = False) -> None:  # fmt: skip
        if (address % size).any():
            raise PtxError("a misaligned address")
        if space == "global":
            words, values = self._global_words(address, size), values.astype(f"u{size}")
            memory = self.memory.view(f"u{size}")
            if not atomic and self.stores_once and len(np.unique(words)) != len(words):
                raise PtxError("two threads store the same byte")
            memory[words] = values
            if not atomic and (memory[words] != values).any():
                raise PtxError("two threads store different values to the same byte")
            self.is_stored.view(f"u{size}")[words] = _ALL[size]
            return
        place = address[:, None] + np.arange(size)
        data = values.astype(f"u{size}")[:, None].view(np.uint8)
        if space == "local":
            self.local[at[:, None], place] = data
            return
        if not atomic:
            self._note(place, at, "write")
        self.shared.is_written[place] = True
        self.shared.data[place] = data

    def store(self, place: np.ndarray, data: np.ndarray) -> None:
        self.memory[place], self.is_stored[place] = data, True

    def _global_words(self, address: np.ndarray, size: int) -> np.ndarray:
        """The numbers of words of global memory, all of them somebody's."""
        words = (address - GLOBAL_BASE) // size
        given = self.is_given.view(f"u{size}")
        if (words < 0).any() or (words >= len(given)).any() or (given[words] != _ALL[size]).any():
            raise PtxError("an address outside global memory")
        return words

    def _global(self, place: np.ndarray) -> np.ndarray:
        place = place - GLOBAL_BASE
        if (place < 0).any() or (place >= len(self.memory)).any() or not self.is_given[place].all():
            raise PtxError("an address outside global memory")
        return place

    def _note(self, place: np.ndarray, at: np.ndarray, what: str) -> None:
        """Checks an access of shared memory against the earlier ones, and remembers it."""
        self.check_inside(place, len(self.shared.data))
        if what == "read":
            self.shared.read(place, at, self.now)
        elif what == "write":
            self.shared.write(place, at, self.now)
        else:
            self.shared.begin_write(place, at, self.now)

    @staticmethod
    @functools.cache
    def _names(text: str) -> list[str]:
        return [name.strip() for name in text.strip("{}").split(",")]

    def _locate(self, i: Instruction, text: str, at: np.ndarray) -> tuple[str, np.ndarray]:
        """The space of an instruction that accesses memory, and where in it."""
        start = self.address(text, at)
        if i.has("shared"):
            return "shared", self.shared_place(start, at, i.is_of_cluster)
        if i.has("local", "global"):
            return "local" if i.has("local") else "global", start
        inside = self.in_window(start)
        if not inside.any():
            return "global", start
        if not inside.all():
            raise NotInMachine(f"generic addresses of several spaces in '{i.text}'")
        return "shared", self.shared_place(start, at, is_of_cluster=True)

    def op_ld(self, i: Instruction, at: np.ndarray) -> None:
        size = bits_of(i.kind) // 8
        names = self._names(i.operands[0])
        if i.has("param"):
            match = re.fullmatch(r"\[(\w+)(?:\+(\d+))?\]", i.operands[1])
            if match is None:  # of several parameters, by address
                self._load_parameter(i.operands[1], names, size, at)
                return
            data = self.values[match[1]]
            for k, name in enumerate(names):
                offset = int(match[2] or 0) + k * size
                value = int.from_bytes(
                    data[offset : offset + size], "little", signed=i.kind[0] == "s"
                )
                self.put(name, at, np.full(len(at), value & ((1 << 64) - 1), np.uint64))
            return
        space, start = self._locate(i, i.operands[1], at)
        if len(at) and (start % (size * len(names))).any():
            raise PtxError("a misaligned vector")
        for k, name in enumerate(names):
            if len(names) > 1 and name in self.unread:
                continue  # LLVM fills gaps of a vector, whose bytes need not be anybody's
            values = self.read(space, start + k * size, at, size)
            if i.kind.startswith("s"):
                values = typed(values, i.kind).astype(np.int64).view(np.uint64)
            self.put(name, at, values)

    def _load_parameter(self, text: str, names: list[str], size: int, at: np.ndarray) -> None:
        for thread in at:
            one = np.array([thread])
            address = int(self.get(text.strip("[]").split("+")[0], one)[0]) - PARAMETER_BASE
            name, start = list(self.values)[address >> 12], address & 4095
            for k, target in enumerate(names):
                part = self.values[name][start + k * size : start + (k + 1) * size]
                self.put(target, one, np.array([int.from_bytes(part, "little")], np.uint64))

    def op_st(self, i: Instruction, at: np.ndarray) -> None:
        size = bits_of(i.kind) // 8
        space, start = self._locate(i, i.operands[0], at)
        names = self._names(i.operands[1])
        if len(at) and (start % (size * len(names))).any():
            raise PtxError("a misaligned vector")
        for k, name in enumerate(names):
            self.write(space, start + k * size, at, size, self.get(name, at, i.kind))

    _COMBINE: dict[str, Callable[[Any, Any], Any]] = {
        "add": lambda a, b: a + b,
        "and": lambda a, b: a & b,
        "or": lambda a, b: a | b,
        "xor": lambda a, b: a ^ b,
        "min": np.minimum,
        "max": np.maximum,
        "exch": lambda _, b: b,
    }

    def _atomic(self, i: Instruction, at: np.ndarray, result: str, operands: list[str]) -> None:
        """Threads one after the other, each with all words of its vector."""
        size = bits_of(i.kind) // 8
        (space, start), values = self._locate(i, operands[0], at), self._names(operands[1])
        if len(at) and (start % (size * len(values))).any():
            raise PtxError("a misaligned vector")
        results = self._names(result) if result != "_" else ["_"] * len(values)
        for k, thread in enumerate(at):
            one = np.array([thread])
            for word, (name, value) in enumerate(zip(results, values, strict=True)):
                where = start[k : k + 1] + word * size
                place = (where - (GLOBAL_BASE if space == "global" else 0))[0]
                data = self.memory if space == "global" else self.shared.data
                old = data[place : place + size].copy().view(f"u{size}").astype(np.uint64)
                x = self.get(value, one, i.kind)
                if i.has("cas"):
                    new = self.get(operands[2], one, i.kind) if old[0] == x[0] else old
                else:
                    combine = next(self._COMBINE[p] for p in i.parts if p in self._COMBINE)
                    new = raw(combine(typed(old, i.kind), typed(x, i.kind)))
                self.write(space, where, one, size, new, atomic=True)
                self.put(name, one, old)

    def op_atom(self, i: Instruction, at: np.ndarray) -> None:
        self._atomic(i, at, i.operands[0], i.operands[1:])

    def op_red(self, i: Instruction, at: np.ndarray) -> None:
        self._atomic(i, at, "_", i.operands)

    # -- warps ------------------------------------------------------------------------------------

    def op_bar(self, i: Instruction, at: np.ndarray) -> None:
        self.clocks.warp_barrier(at)

    def op_shfl(self, i: Instruction, at: np.ndarray) -> None:
        target = i.operands[0].split("|")[0]
        values, lane = self.get(i.operands[1], at), at % 32
        number = self.get(i.operands[2], at).astype(np.int64)
        source = lane ^ number if i.has("bfly") else number & 31
        full = np.zeros(self.threads, np.uint64)
        full[at] = values
        self.put(target, at, full[at - lane + source] & np.uint64(0xFFFFFFFF))

    def op_redux(self, i: Instruction, at: np.ndarray) -> None:
        values = self.number(i.operands[1], at, i.kind.replace("b", "u"))
        name = next(part for part in i.parts if part in self._COMBINE)
        reduce = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
                  "or": np.bitwise_or, "xor": np.bitwise_xor}[name].reduce  # fmt: skip
        result = np.zeros(len(at), values.dtype)
        for warp in np.unique(at // 32):
            result[at // 32 == warp] = reduce(values[at // 32 == warp], dtype=values.dtype)
        self.put(i.operands[0], at, result)

    def op_vote(self, i: Instruction, at: np.ndarray) -> None:
        assert i.has("ballot")
        holds = np.zeros(self.threads, bool)
        holds[at] = self.get(i.operands[1], at)
        words = holds.reshape(-1, 32) @ (np.uint64(1) << np.arange(32, dtype=np.uint64))
        self.put(i.operands[0], at, words[at // 32])

    def _matrix_places(self, i: Instruction, at: np.ndarray, address: str,
                       count: int) -> list[np.ndarray]:  # fmt: skip
        """For each matrix the address of each lane's two halves."""
        rows = np.zeros(self.threads, np.int64)
        rows[at] = self._locate(i, address, at)[1]
        lane, first = at % 32, at - at % 32
        places = []
        for matrix in range(count):
            if i.has("trans"):
                halves = [rows[first + 8 * matrix + 2 * (lane % 4) + h] + lane // 4 * 2
                          for h in range(2)]  # fmt: skip
            else:
                halves = [rows[first + 8 * matrix + lane // 4] + lane % 4 * 4 + 2 * h
                          for h in range(2)]  # fmt: skip
            places.append(np.stack(halves, axis=1))
        return places

    def op_ldmatrix(self, i: Instruction, at: np.ndarray) -> None:
        names = self._names(i.operands[0])
        for name, place in zip(names, self._matrix_places(i, at, i.operands[1], len(names))):
            low, high = (self.read("shared", place[:, h], at, 2) for h in range(2))
            self.put(name, at, low | high << np.uint64(16))

    def op_stmatrix(self, i: Instruction, at: np.ndarray) -> None:
        names = self._names(i.operands[1])
        for name, place in zip(names, self._matrix_places(i, at, i.operands[0], len(names))):
            values = self.get(name, at)
            for h in range(2):
                self.write("shared", place[:, h], at, 2, values >> np.uint64(16 * h))

    def op_trap(self, i: Instruction, at: np.ndarray) -> None:
        if len(at):
            raise PtxError("the program ends itself")


def run(kernel: Any, arguments: Iterable[Any], grid: tuple[int, ...] = (1,)) -> Machine:
    """Runs a compiled kernel (`fn.warmup(..., arch=...)`) on NumPy arrays and scalars."""
    num_ctas = kernel.data.get("num_ctas")
    machine = Machine(kernel.asm["ptx"], kernel.metadata.num_warps, num_ctas)
    machine.run((*grid, 1, 1)[:3], arguments, kernel.metadata.shared)
    return machine
