"""A machine for PTX without a GPU: the threads of a program as NumPy vectors.

For tests of what the compiler makes of layouts: who holds which element, who writes where. Threads
run at the lowest program counter first, so they meet again after branches as on the hardware; a
Schedule lets some run ahead. Every byte of shared memory knows who read and wrote it (see
ptx_clocks.py), so a missing barrier is an error, and so are memory that was never written and a
store of one byte by two threads. Arithmetic is that of the instructions that integer code needs,
and some of floats.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

import ml_dtypes
import numpy as np
from ptx_clocks import Clocks, Memory, Race

GLOBAL_BASE = 1 << 20
PARAMETER_BASE = 1 << 48  # each parameter has 4096 bytes
_LINE = re.compile(r"(?:@(!?)(%p\w+)\s+)?([a-z][\w.:]*)\s*(.*)$", re.DOTALL)
_FLOATS = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
}

np.seterr(all="ignore")


class PtxError(AssertionError):
    """The program is wrong: a race, a bad address, a divergent barrier."""


def bits_of(kind: str) -> int:
    if kind.endswith("x2"):
        return 2 * bits_of(kind[:-2])
    return 8 if kind == "pred" else int(re.sub(r"\D", "", kind))


def typed(values: np.ndarray, kind: str) -> np.ndarray:
    """Raw 64-bit values as numbers of a PTX type; pairs of floats are rows of two."""
    bits = bits_of(kind)
    raw = values.astype(np.uint64).astype(f"u{bits // 8}")
    if kind.endswith("x2"):
        element = _FLOATS.get(kind[:-2], np.int16 if kind[0] == "s" else np.uint16)
        return raw.view(element).reshape(-1, 2)
    if kind in _FLOATS:
        return raw.view(_FLOATS[kind])
    return raw.view(f"i{bits // 8}") if kind.startswith("s") else raw


def raw(values: np.ndarray) -> np.ndarray:
    """Numbers as raw 64-bit values, narrower ones with zeros above."""
    values = np.ascontiguousarray(values)
    if values.dtype == bool:
        return values.astype(np.uint64)
    if values.ndim == 2:
        return values.view(f"u{2 * values.dtype.itemsize}")[:, 0].astype(np.uint64)
    return values.view(f"u{values.dtype.itemsize}").astype(np.uint64)


def _whole(values: np.ndarray, target: str, source: str) -> np.ndarray:
    """Floats as integers: the nearest limit where they are too large; a NaN is 0, or the top bit
    alone where 64 bits take part."""
    kind = np.dtype(("i" if target[0] == "s" else "u") + str(bits_of(target) // 8))
    limits, values = np.iinfo(kind), values.astype(np.float64)
    fits = (values >= float(limits.min)) & (values < float(limits.max) + (kind.itemsize < 8))
    result = np.where(values < 0, limits.min, limits.max).astype(kind)
    result = np.where(fits, np.where(fits, values, 0).astype(kind), result)
    is_wide = kind.itemsize == 8 or source == "f64"
    top = np.array(1 << (8 * kind.itemsize - 1), f"u{kind.itemsize}").view(kind)
    return np.where(np.isnan(values), top if is_wide else kind.type(0), result).astype(kind)


class Instruction:
    """One line: predicate, opcode in parts, operands as text."""

    def __init__(self, text: str, number: int = -1) -> None:
        self.number = number
        match = _LINE.match(text)
        if match is None:
            raise PtxError(f"cannot read '{text}'")
        self.text = text
        self.is_negated = match[1] == "!"
        self.predicate = match[2]
        self.parts = match[3].replace("::", ".").split(".")
        self.operands = [
            part.strip() for part in re.findall(r"\{[^}]*\}|\[[^]]*\]|[^,\s]+", match[4])
        ]

    def has(self, *names: str) -> bool:
        return any(name in self.parts for name in names)

    @property
    def kind(self) -> str:
        return self.parts[-1]


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

    def choose(self, ready: np.ndarray, warps: np.ndarray) -> np.ndarray:
        self.looks_again = False
        if self.random is not None:
            if len(self.rank) <= warps[-1] or self.random.random() < 0.01:
                self.rank = self.random.permutation(warps[-1] + 1) // self.random.integers(1, 5)
                self.looks_again = True
            rank = self.rank[warps]
        elif self.first is not None:
            rank = (warps // 4 != self.first).astype(int)
        else:
            return ready
        return ready & (rank == rank[ready].min())


def _toward_zero(exact: np.ndarray, rounded: np.ndarray) -> np.ndarray:
    """Floats that were rounded to nearest, rounded toward zero instead."""
    wide = np.longdouble if exact.dtype.kind in "iu" else np.float64
    bits = rounded.view(f"u{rounded.dtype.itemsize}")
    is_beyond = np.abs(rounded.astype(wide)) > np.abs(exact.astype(wide))
    return (bits - is_beyond.astype(bits.dtype)).view(rounded.dtype)


def _fused(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """a * b + c in fp64, rounded to odd where operands are narrower, so that the next rounding is
    right."""
    product, c = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    total = product + c
    back = total - product
    error = (product - (total - back)) + (c - back)
    bits = total.view(np.int64)
    odd = bits + np.where((error > 0) == (total > 0), 1, -1)
    is_inexact = (error != 0) & np.isfinite(total) & (total != 0) & (bits & 1 == 0)
    return np.where(is_inexact & (a.dtype != np.float64), odd, bits).view(np.float64)


class Machine:
    def __init__(self, ptx: str, num_warps: int) -> None:
        self.threads = 32 * num_warps
        self.warps = np.arange(self.threads) // 32
        self.code: list[Instruction] = []
        self.labels: dict[str, int] = {}
        self.parameters: list[tuple[str, int]] = []
        self.symbols: dict[str, tuple[int, bytes]] = {}
        self.barriers = 0
        self.schedule = Schedule()
        self._read(ptx)

    # -- program ----------------------------------------------------------------------------------

    def _read(self, ptx: str) -> None:
        ptx = re.sub(r"//[^\n]*", "", ptx)
        address = 4096
        for match in re.finditer(
            r"\.global\s+\.align\s+\d+\s+\.b8\s+(\w+)\[(\d+)\](?:\s*=\s*\{([^}]*)\})?", ptx
        ):
            values = [int(x, 0) for x in (match[3] or "").replace(" ", "").split(",") if x]
            data = bytes(v & 255 for v in values).ljust(int(match[2]), b"\0")
            self.symbols[match[1]] = (address, data)
            address += (len(data) + 255) // 256 * 256
        entry = ptx[ptx.index(".entry") :]
        head, body = entry.split("{", 1)
        for match in re.finditer(r"\.param\s+\.(\w+)(?:\s+\.ptr[^,)]*?)?\s+(\w+)\s*[,)\n]", head):
            self.parameters.append((match[2], bits_of(match[1]) // 8))
        body = body[: body.index("\n}")]
        # LLVM's half of a 64-bit register.
        body = re.sub(r"\{\s*\.reg \.b\d+ tmp;\s*(mov[^;]*;)\s*\}", r"\1", body)
        body = re.sub(r"(?m)^\s*\.(reg|loc|local|shared|pragma|file)\b[^\n]*$", "", body)
        for piece in re.split(r";|(?<=:)\n|\n(?=\$)", body):
            piece = piece.strip()
            while match := re.match(r"(\$\w+):\s*", piece):
                self.labels[match[1]] = len(self.code)
                piece = piece[match.end() :]
            if piece and piece not in "{}":
                self.code.append(Instruction(piece, len(self.code)))

    # -- running ----------------------------------------------------------------------------------

    def run(self, grid: tuple[int, int, int], arguments: Iterable[Any], shared_bytes: int) -> None:
        """Runs all programs in turn; arrays among the arguments are changed in place. Those that
        begin at one address are one.
        """
        memory = bytearray(b"\0" * 65536)
        for address, data in self.symbols.values():
            memory[address : address + len(data)] = data
        arrays: list[tuple[int, np.ndarray]] = []
        values: list[bytes] = []
        arguments = list(arguments)
        for (_, size), argument in zip(self.parameters, arguments, strict=True):
            if isinstance(argument, np.ndarray):
                known = [
                    start for start, array in arrays if array.ctypes.data == argument.ctypes.data
                ]
                if known and argument.nbytes:
                    values.append((GLOBAL_BASE + known[0]).to_bytes(8, "little"))
                    continue
                start = len(memory) + 64
                start -= start % 256 - 256
                memory.extend(b"\0" * (start - len(memory)) + argument.tobytes())
                arrays.append((start, argument))
                values.append((GLOBAL_BASE + start).to_bytes(8, "little"))
            else:
                values.append(np.asarray(argument).tobytes().ljust(size, b"\0")[:size])
        self.values = dict(zip((name for name, _ in self.parameters), values))
        memory.extend(b"\0" * 256)
        self.memory = np.frombuffer(memory, np.uint8).copy()
        for z in range(grid[2]):
            for y in range(grid[1]):
                for x in range(grid[0]):
                    self._run_program((x, y, z), grid, shared_bytes)
        for start, array in arrays:
            found = self.memory[start : start + array.nbytes].tobytes()
            array[...] = np.frombuffer(found, array.dtype).reshape(array.shape)

    def _run_program(self, program: tuple[int, ...], grid: tuple[int, ...], shared: int) -> None:
        self.clocks = Clocks(self.threads)
        self.shared = Memory(shared, self.clocks)
        self.now = -1  # which instruction runs
        self.registers: dict[str, np.ndarray] = {}
        thread = np.arange(self.threads, dtype=np.uint64)
        for axis, name in enumerate("xyz"):
            self.registers[f"%tid.{name}"] = thread if axis == 0 else thread * 0
            self.registers[f"%ctaid.{name}"] = thread * 0 + np.uint64(program[axis])
            self.registers[f"%nctaid.{name}"] = thread * 0 + np.uint64(grid[axis])
        self.timer = 0
        self.registers["%laneid"] = thread % np.uint64(32)
        self.counter = np.zeros(self.threads, int)
        done = np.zeros(self.threads, bool)
        waits = np.zeros(self.threads, bool)
        meets = np.zeros(self.threads, bool)  # at an instruction that its whole warp executes
        stalled = np.zeros(self.threads, bool)  # until something else has happened
        is_retry = False
        for _ in range(2_000_000):
            if self.schedule.looks_again:
                stalled[:] = False
            ready = ~done & ~waits & ~meets & ~stalled
            if not ready.any() and stalled.any():
                if is_retry:
                    text = self.code[int(self.counter[stalled].min())].text
                    raise PtxError(f"nothing ends the wait of '{text}'")
                stalled[:], is_retry = False, True
                continue
            if not ready.any():
                if meets.any():
                    text = self.code[int(self.counter[meets].min())].text
                    raise PtxError(f"not all lanes of a warp are at '{text}'")
                if done.all():
                    return
                if done.any() or len(np.unique(self.counter)) != 1:
                    raise PtxError("threads wait at different barriers")
                waits[:] = False
                self.counter += 1
                self.clocks.block_barrier()
                self.barriers += 1
                continue
            ready = self.schedule.choose(ready, self.warps)
            counter = int(self.counter[ready].min())
            here = np.flatnonzero(ready & (self.counter == counter))
            instruction = self.code[counter]
            if instruction.has("warp") or (
                instruction.has("sync") and instruction.parts[0] not in ("bar", "barrier")
            ):
                # Those of a warpgroup come one by one, those of a warp together.
                team = self.warps // (4 if instruction.parts[0] == "wgmma" else 1)
                away = np.unique(team[~done & (self.counter != counter)])
                at = (self.counter == counter) & np.isin(team, team[here])
                meets[at] = np.isin(team[at], away)
                here = np.flatnonzero(at & ~done & ~waits & ~meets)
                if not len(here):
                    continue
            active = self._active(instruction, here)
            opcode = instruction.parts[0]
            if opcode in ("ret", "exit"):
                done[active] = True
            elif opcode == "bra":
                self.counter[active] = self.labels[instruction.operands[0]]
                active_set = set(active)
                self.counter[[i for i in here if i not in active_set]] += 1
                continue
            elif opcode in ("bar", "barrier") and not instruction.has("warp"):
                waits[here] = True
                continue
            else:
                stuck = self._step(instruction, here, active, done)
                if stuck is not None and len(stuck):
                    stalled[stuck] = True
                    here = np.setdiff1d(here, stuck)
            self.counter[here] += 1
            is_retry &= not len(here)
        raise PtxError("the program does not end")

    def _active(self, instruction: Instruction, here: np.ndarray) -> np.ndarray:
        if instruction.predicate is None:
            return here
        condition = self.registers[instruction.predicate][here] != 0
        return here[~condition if instruction.is_negated else condition]

    def _step(self, instruction: Instruction, here: np.ndarray, active: np.ndarray,
              done: np.ndarray) -> Any:  # fmt: skip
        """Executes one instruction; returns the threads that it lets wait."""
        opcode = instruction.parts[0]
        if instruction.has("sync") or instruction.has("warp"):
            for warp in np.unique(self.warps[here]):
                lanes = np.flatnonzero((self.warps == warp) & ~done)
                if not np.isin(lanes, active).all():
                    raise PtxError(f"not all lanes of a warp are at '{instruction.text}'")
        handler: Callable[..., Any] | None = getattr(self, f"op_{opcode}", None)
        if handler is None:
            raise PtxError(f"no instruction '{instruction.text}'")
        self.now = instruction.number
        try:
            return handler(instruction, active)
        except Race as race:
            earlier = f" by '{self.code[race.code].text}'" if race.code >= 0 else ""
            raise PtxError(f"'{instruction.text}': {race}{earlier}") from race
        except (PtxError, ValueError, KeyError, IndexError, TypeError) as error:
            raise PtxError(f"'{instruction.text}': {error!r}") from error

    # -- operands ---------------------------------------------------------------------------------

    def get(self, text: str, at: np.ndarray, kind: str = "b64") -> np.ndarray:
        """The raw values of an operand in the threads `at`."""
        if text.startswith("%") and not text.startswith("%SP"):
            if text in ("%ntid.x",):
                return np.full(len(at), self.threads, np.uint64)
            if text == "%globaltimer":
                self.timer += 10  # ns for each look
                return np.full(len(at), self.timer, np.uint64)
            return self.registers.get(text, np.zeros(self.threads, np.uint64))[at]
        if text.startswith(("0f", "0d")):
            value = int(text[2:], 16)
        elif text.startswith("shared_memory"):
            value = int(text.removeprefix("shared_memory") or 0)
        elif text in self.symbols:
            value = GLOBAL_BASE + self.symbols[text][0]
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
        match = re.fullmatch(r"\[\s*([^+\s\]]+)\s*(?:\+\s*(-?\d+))?\s*\]", text)
        assert match is not None, text
        start = self.get(match[1], at).astype(np.int64) + int(match[2] or 0)
        return start & 0xFFFFFFFF  # shared addresses have 32 bits; global ones are small here

    # -- memory -----------------------------------------------------------------------------------

    def read(self, space: str, address: np.ndarray, at: np.ndarray, size: int) -> np.ndarray:
        place = address[:, None] + np.arange(size)
        if (address % size).any():
            raise PtxError("a misaligned address")
        if space == "global":
            data = self.memory[self._global(place)]
        else:
            self._note(place, at, "read")
            data = self.shared.data[place]
        return np.ascontiguousarray(data).view(f"u{size}")[:, 0].astype(np.uint64)

    def write(self, space: str, address: np.ndarray, at: np.ndarray, size: int,
              values: np.ndarray, atomic: bool = False) -> None:  # fmt: skip
        place = address[:, None] + np.arange(size)
        if (address % size).any():
            raise PtxError("a misaligned address")
        data = values.astype(f"u{size}")[:, None].view(np.uint8)
        if space == "global":
            place = self._global(place)
            if not atomic and len(np.unique(place)) != place.size:
                raise PtxError("two threads store the same byte")
            self.memory[place] = data
            return
        if not atomic:
            self._note(place, at, "write")
        self.shared.is_written[place] = True
        self.shared.data[place] = data

    def _global(self, place: np.ndarray) -> np.ndarray:
        place = place - GLOBAL_BASE
        if (place < 0).any() or (place >= len(self.memory)).any():
            raise PtxError("an address outside global memory")
        return place

    def _note(self, place: np.ndarray, at: np.ndarray, what: str) -> None:
        """Checks an access of shared memory against the earlier ones, and remembers it."""
        if (place < 0).any() or (place >= len(self.shared.data)).any():
            raise PtxError(f"shared memory has {len(self.shared.data)} bytes, found {place.max()}")
        if what == "read":
            self.shared.read(place, at, self.now)
        elif what == "write":
            self.shared.write(place, at, self.now)
        else:
            self.shared.begin_write(place, at, self.now)

    @staticmethod
    def _names(text: str) -> list[str]:
        return [name.strip() for name in text.strip("{}").split(",")]

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
        space = "shared" if i.has("shared") else "global"
        start = self.address(i.operands[1], at)
        if len(at) and (start % (size * len(names))).any():
            raise PtxError("a misaligned vector")
        for k, name in enumerate(names):
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
        start = self.address(i.operands[0], at)
        names = self._names(i.operands[1])
        if len(at) and (start % (size * len(names))).any():
            raise PtxError("a misaligned vector")
        for k, name in enumerate(names):
            self.write("shared" if i.has("shared") else "global", start + k * size, at, size,
                       self.get(name, at, i.kind))  # fmt: skip

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
        space = "shared" if i.has("shared") else "global"
        size = bits_of(i.kind) // 8
        start, values = self.address(operands[0], at), self._names(operands[1])
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

    def _matrix_places(self, i: Instruction, at: np.ndarray, address: str,
                       count: int) -> list[np.ndarray]:  # fmt: skip
        """For each matrix the address of each lane's two halves."""
        rows = np.zeros(self.threads, np.int64)
        rows[at] = self.address(address, at)
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

    # -- moves ------------------------------------------------------------------------------------

    def op_mov(self, i: Instruction, at: np.ndarray) -> None:
        target, source = i.operands[0], i.operands[1]
        bits = bits_of(i.kind)
        if target.startswith("{"):
            names, values = self._names(target), self.get(source, at)
            width = bits // len(names)
            for k, name in enumerate(names):
                part = values >> np.uint64(width * k) & np.uint64((1 << width) - 1)
                self.put(name, at, part)
        elif source.startswith("{"):
            names = self._names(source)
            width = bits // len(names)
            total = np.zeros(len(at), np.uint64)
            for k, name in enumerate(names):
                part = self.get(name, at, f"b{width}") & np.uint64((1 << width) - 1)
                total |= part << np.uint64(width * k)
            self.put(target, at, total)
        else:
            self.put(target, at, self.get(source, at, i.kind))

    def op_cvta(self, i: Instruction, at: np.ndarray) -> None:
        self.put(i.operands[0], at, self.get(i.operands[1], at))

    _ROUNDINGS = {"rmi": np.floor, "rpi": np.ceil, "rzi": np.trunc, "rni": np.rint}

    def op_cvt(self, i: Instruction, at: np.ndarray) -> None:
        target, source = i.parts[-2], i.parts[-1]
        values = self.number(i.operands[1], at, source)
        for mode, function in self._ROUNDINGS.items():
            if i.has(mode):  # to a whole number
                values = function(values.astype(np.float64))
        if target in _FLOATS:
            exact, values = values, values.astype(_FLOATS[target])
            if i.has("rz"):
                values = _toward_zero(exact, values)
        elif source in _FLOATS:
            values = _whole(values, target, source)
        else:
            values = values.astype(("i" if target[0] == "s" else "u") + str(bits_of(target) // 8))
            if source.startswith("s"):  # narrow registers are wider than their type
                values = values.astype(np.int64)
        self.put(i.operands[0], at, values)

    def op_selp(self, i: Instruction, at: np.ndarray) -> None:
        chosen = self.get(i.operands[3], at) != 0
        a, b = (self.get(name, at, i.kind) for name in i.operands[1:3])
        self.put(i.operands[0], at, np.where(chosen, a, b))

    def op_setp(self, i: Instruction, at: np.ndarray) -> None:
        a, b = (self.number(name, at, i.kind) for name in i.operands[1:3])
        name = i.parts[1]
        unordered = np.zeros(a.shape, bool)
        if i.kind.removesuffix("x2") in _FLOATS:
            a, b = a.astype(np.float64), b.astype(np.float64)
            unordered = np.isnan(a) | np.isnan(b)
        if name in ("num", "nan"):
            result = unordered if name == "nan" else ~unordered
        else:
            result = {
                "eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b,
                "lo": a < b, "ls": a <= b, "hi": a > b, "hs": a >= b,
            }[name if len(name) == 2 else name[:2]]  # fmt: skip
            result = result | unordered if len(name) == 3 else result & ~unordered
        for part in i.parts[2:-1]:
            if part in ("and", "or", "xor"):
                other = self.get(i.operands[3].lstrip("!"), at) != 0
                result = self._COMBINE[part](result, other != i.operands[3].startswith("!"))
        targets = i.operands[0].split("|")
        for k, target in enumerate(targets if result.ndim == 2 else targets[:1]):
            self.put(target, at, result[:, k] if result.ndim == 2 else result)

    # -- arithmetic -------------------------------------------------------------------------------

    def _binary(self, i: Instruction, at: np.ndarray, function: Callable[..., Any]) -> None:
        values = [self.number(name, at, i.kind) for name in i.operands[1:]]
        if i.parts[-2] == "f32" and i.kind in ("f16", "bf16"):  # the last operand is fp32
            values = [value.astype(np.float32) for value in values[:-1]]
            values.append(self.number(i.operands[-1], at, "f32"))
        result = function(*values)
        self.put(i.operands[0], at, result.astype(values[0].dtype))

    def op_add(self, i: Instruction, at: np.ndarray) -> None:
        self._binary(i, at, lambda a, b: a + b)

    def op_sub(self, i: Instruction, at: np.ndarray) -> None:
        self._binary(i, at, lambda a, b: a - b)

    def _product(self, i: Instruction, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if i.has("wide"):
            wide = ("i" if i.kind[0] == "s" else "u") + str(bits_of(i.kind) // 4)
            return a.astype(wide) * b.astype(wide)
        if i.has("hi"):
            return np.array([(int(x) * int(y)) >> bits_of(i.kind) for x, y in zip(a, b)], a.dtype)
        return a * b

    def op_mul(self, i: Instruction, at: np.ndarray) -> None:
        a, b = (self.number(name, at, i.kind) for name in i.operands[1:3])
        self.put(i.operands[0], at, self._product(i, a, b))

    def op_mad(self, i: Instruction, at: np.ndarray) -> None:
        a, b = (self.number(name, at, i.kind) for name in i.operands[1:3])
        product = self._product(i, a, b)
        kind = i.kind[0] + str(8 * product.dtype.itemsize)
        self.put(i.operands[0], at, product + self.number(i.operands[3], at, kind))

    def op_sad(self, i: Instruction, at: np.ndarray) -> None:
        self._binary(i, at, lambda a, b, c: np.maximum(a, b) - np.minimum(a, b) + c)

    def op_fma(self, i: Instruction, at: np.ndarray) -> None:
        a, b, c = (self.number(name, at, i.kind) for name in i.operands[1:4])
        if i.parts[-2] == "f32" and i.kind in ("f16", "bf16"):
            a, b = a.astype(np.float32), b.astype(np.float32)
            c = self.number(i.operands[3], at, "f32")
        self.put(i.operands[0], at, _fused(a, b, c).astype(a.dtype))

    def op_div(self, i: Instruction, at: np.ndarray) -> None:
        def quotients(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            if i.kind in _FLOATS:
                return a / b
            exact = [abs(int(x)) // abs(int(y)) if y else 0 for x, y in zip(a, b)]
            size = np.array([x & (1 << 64) - 1 for x in exact], np.uint64).astype(a.dtype)
            return np.where((a < 0) == (b < 0), size, -size)

        self._binary(i, at, quotients)

    def op_rem(self, i: Instruction, at: np.ndarray) -> None:
        self._binary(i, at, np.fmod)

    def op_ex2(self, i: Instruction, at: np.ndarray) -> None:
        self._binary(i, at, np.exp2)

    def op_lg2(self, i: Instruction, at: np.ndarray) -> None:
        self._binary(i, at, np.log2)

    def op_rcp(self, i: Instruction, at: np.ndarray) -> None:
        self._binary(i, at, lambda a: 1 / a)

    def op_sqrt(self, i: Instruction, at: np.ndarray) -> None:
        self._binary(i, at, np.sqrt)

    def op_rsqrt(self, i: Instruction, at: np.ndarray) -> None:
        self._binary(i, at, lambda a: 1 / np.sqrt(a))

    def op_sin(self, i: Instruction, at: np.ndarray) -> None:
        self._binary(i, at, np.sin)

    def op_cos(self, i: Instruction, at: np.ndarray) -> None:
        self._binary(i, at, np.cos)

    def op_copysign(self, i: Instruction, at: np.ndarray) -> None:
        self._binary(i, at, lambda sign, a: np.copysign(a, sign))

    def op_neg(self, i: Instruction, at: np.ndarray) -> None:
        self._binary(i, at, lambda a: -a)

    def op_abs(self, i: Instruction, at: np.ndarray) -> None:
        self._binary(i, at, np.abs)

    def op_min(self, i: Instruction, at: np.ndarray) -> None:
        self._extreme(i, at, np.minimum, np.fmin)

    def op_max(self, i: Instruction, at: np.ndarray) -> None:
        self._extreme(i, at, np.maximum, np.fmax)

    def _extreme(self, i: Instruction, at: np.ndarray, strict: Any, number: Any) -> None:
        """Of two operands, three from sm_100 on; -0 is less than +0."""
        if i.kind[0] in "us":
            self._binary(i, at, strict)
            return
        function = strict if i.has("NaN") else number

        def one(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            zeros = (a == 0) & (b == 0)
            negative = np.signbit(a) | np.signbit(b)
            if strict is np.maximum:
                negative = np.signbit(a) & np.signbit(b)
            zero = np.where(negative, -0.0, 0.0).astype(a.dtype)
            return np.where(zeros, zero, function(a, b)).astype(a.dtype)

        self._binary(i, at, lambda *values: reduce(one, values))

    def _bitwise(self, i: Instruction, at: np.ndarray, function: Callable[..., Any]) -> None:
        values = [self.get(name, at, i.kind) for name in i.operands[1:]]
        mask = 1 if i.kind == "pred" else (1 << bits_of(i.kind)) - 1
        self.put(i.operands[0], at, function(*values) & np.uint64(mask))

    def op_and(self, i: Instruction, at: np.ndarray) -> None:
        self._bitwise(i, at, lambda a, b: a & b)

    def op_or(self, i: Instruction, at: np.ndarray) -> None:
        self._bitwise(i, at, lambda a, b: a | b)

    def op_xor(self, i: Instruction, at: np.ndarray) -> None:
        self._bitwise(i, at, lambda a, b: a ^ b)

    def op_not(self, i: Instruction, at: np.ndarray) -> None:
        self._bitwise(i, at, lambda a: ~a)

    def op_lop3(self, i: Instruction, at: np.ndarray) -> None:
        a, b, c = (self.get(name, at, "b32") for name in i.operands[1:4])
        table, result = int(i.operands[4].rstrip("U"), 0), np.zeros(len(at), np.uint64)
        for k in range(8):
            if table >> k & 1:
                result |= (a if k & 4 else ~a) & (b if k & 2 else ~b) & (c if k & 1 else ~c)
        self.put(i.operands[0], at, result & np.uint64(0xFFFFFFFF))

    def op_popc(self, i: Instruction, at: np.ndarray) -> None:
        values = self.get(i.operands[1], at)
        self.put(i.operands[0], at, np.array([int(v).bit_count() for v in values], np.uint64))

    def _of_bits(self, i: Instruction, at: np.ndarray, function: Callable[[int], int]) -> None:
        """A function of the bits of the operand, as a number that is not negative."""
        mask = (1 << bits_of(i.kind)) - 1
        values = [function(int(v) & mask) for v in self.get(i.operands[1], at)]
        self.put(i.operands[0], at, np.array(values, np.uint64))

    def op_clz(self, i: Instruction, at: np.ndarray) -> None:
        self._of_bits(i, at, lambda x: bits_of(i.kind) - x.bit_length())

    def op_brev(self, i: Instruction, at: np.ndarray) -> None:
        self._of_bits(i, at, lambda x: int(f"{x:0{bits_of(i.kind)}b}"[::-1], 2))

    def op_bfind(self, i: Instruction, at: np.ndarray) -> None:
        def highest(x: int) -> int:
            if i.kind[0] == "s" and x >> (bits_of(i.kind) - 1):
                x ^= (1 << bits_of(i.kind)) - 1
            if x == 0:
                return 0xFFFFFFFF
            return bits_of(i.kind) - x.bit_length() if i.has("shiftamt") else x.bit_length() - 1

        self._of_bits(i, at, highest)

    def op_shl(self, i: Instruction, at: np.ndarray) -> None:
        values, amount = self.number(i.operands[1], at, i.kind), self.get(i.operands[2], at, "b32")
        shifted = values << np.minimum(amount, bits_of(i.kind) - 1).astype(values.dtype)
        self.put(i.operands[0], at, np.where(amount >= bits_of(i.kind), 0, shifted).astype(
            values.dtype))  # fmt: skip

    def op_shr(self, i: Instruction, at: np.ndarray) -> None:
        values, amount = self.number(i.operands[1], at, i.kind), self.get(i.operands[2], at, "b32")
        shifted = values >> np.minimum(amount, bits_of(i.kind) - 1).astype(values.dtype)
        if values.dtype.kind == "u":
            shifted = np.where(amount >= bits_of(i.kind), 0, shifted).astype(values.dtype)
        self.put(i.operands[0], at, shifted)

    def op_shf(self, i: Instruction, at: np.ndarray) -> None:
        low, high = (self.get(name, at, "b32") for name in i.operands[1:3])
        amount = self.get(i.operands[3], at, "b32") & np.uint64(31)
        both = high << np.uint64(32) | low
        shifted = both >> amount if i.has("r") else both >> (np.uint64(32) - amount)
        self.put(i.operands[0], at, shifted & np.uint64(0xFFFFFFFF))

    def op_bfe(self, i: Instruction, at: np.ndarray) -> None:
        values = self.number(i.operands[1], at, i.kind)
        start, length = int(i.operands[2]), int(i.operands[3])
        bits = bits_of(i.kind)
        shifted = values << values.dtype.type(bits - start - length)
        self.put(i.operands[0], at, shifted >> values.dtype.type(bits - length))

    def op_bfi(self, i: Instruction, at: np.ndarray) -> None:
        inserted, base = (self.get(name, at, i.kind) for name in i.operands[1:3])
        start, length = int(i.operands[3]), int(i.operands[4])
        mask = np.uint64(((1 << length) - 1) << start)
        self.put(i.operands[0], at, (base & ~mask) | (inserted << np.uint64(start) & mask))

    def op_prmt(self, i: Instruction, at: np.ndarray) -> None:
        low, high = (self.get(name, at, "b32") for name in i.operands[1:3])
        selector = self.get(i.operands[3], at, "b32")
        both, result = high << np.uint64(32) | low, np.zeros(len(at), np.uint64)
        for k in range(4):
            choice = selector >> np.uint64(4 * k)
            byte = both >> ((choice & np.uint64(7)) * np.uint64(8)) & np.uint64(255)
            sign = (byte >> np.uint64(7)) * np.uint64(255)
            byte = np.where(choice & np.uint64(8), sign, byte)
            result |= byte << np.uint64(8 * k)
        self.put(i.operands[0], at, result)

    def op_fence(self, i: Instruction, at: np.ndarray) -> None:
        pass

    op_membar = op_fence


def run(kernel: Any, arguments: Iterable[Any], grid: tuple[int, ...] = (1,)) -> Machine:
    """Runs a compiled kernel (`fn.warmup(..., arch=...)`) on NumPy arrays and scalars."""
    machine = Machine(kernel.asm["ptx"], kernel.metadata.num_warps)
    machine.run((*grid, 1, 1)[:3], arguments, kernel.metadata.shared)
    return machine
