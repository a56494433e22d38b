"""The machine of ptx_machine.py with matrix products and asynchronous copies.

What is asynchronous happens as late as it may: a copy's bytes are nobody's until its thread waits
for them, or until somebody waits for the mbarrier where they arrive; wgmma reads its operands from
its issue until it is waited for, and its sums may not be touched in between. wgmma may read a byte
only if a fence.proxy.async came between, in the thread that wrote it or in those that know of the
write; what cp.async wrote is there when it has been waited for (docs/gpu-compiler.md). Fragments
and scales: PTX ISA 9.0, 9.7.14.3, 9.7.14.5 (mma) and 9.7.15.5 (wgmma).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import ptx_machine
from ptx_machine import Instruction, PtxError
from ptx_numbers import typed
from ptx_tma_machine import Tma

_WGMMA = re.compile(
    r"\{\.reg \.pred p; setp\.(eq|ne)\.u32 p, 0, 0; (wgmma[^;]*), p((?:, \d+)*);\s*\}"
)
_NUMBERS: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "s8": np.int8,
    "u8": np.uint8,
    "tf32": np.float32,
    "f64": np.float64,
}

_E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def elements(data: np.ndarray, kind: str) -> np.ndarray:
    """Bytes (the last axis) as the numbers that a product takes, in float64."""
    if kind == "e2m1":  # in bytes of their own
        if (data & 0xC3).any():
            raise PtxError("bits beside those of an e2m1")
        return _E2M1[data >> 2 & 15]
    if kind == "e2m1x2":
        pairs = np.stack([_E2M1[data & 15], _E2M1[data >> 4]], axis=-1)
        return pairs.reshape(*data.shape[:-1], -1)
    if kind == "tf32":
        words = np.ascontiguousarray(data).view(np.uint32) & np.uint32(0xFFFFE000)
        return words.view(np.float32).astype(np.float64)
    return np.ascontiguousarray(data).view(_NUMBERS[kind]).astype(np.float64)


@dataclass
class _Product:
    """One wgmma of one warpgroup that is not complete."""

    threads: np.ndarray
    sums: list[str]
    adds: bool
    kinds: list[str]  # of a, b and the sums
    a: np.ndarray | None  # words, where they are in registers
    places: list[np.ndarray]  # of the bytes in shared memory, and these
    data: list[np.ndarray]
    code: int
    group: int = -1  # the commit that it belongs to


class _Fences(ptx_machine.Machine):
    """Tells the bytes that threads wrote before no fence.proxy.async of theirs."""

    unfenced: np.ndarray

    def _run_program(self, program: tuple[int, ...], grid: tuple[int, ...], shared: int) -> None:
        self.unfenced = np.zeros(shared, bool)
        super()._run_program(program, grid, shared)

    def write(self, space: str, address: np.ndarray, at: np.ndarray, size: int,
              values: np.ndarray, atomic: bool = False) -> None:  # fmt: skip
        super().write(space, address, at, size, values, atomic)
        if space == "shared":
            self.unfenced[address[:, None] + np.arange(size)] = True

    def op_fence(self, i: Instruction, at: np.ndarray) -> None:
        super().op_fence(i, at)
        if i.has("proxy") and (i.has("shared") or not i.has("global")):
            passes = np.zeros(self.threads + 1, bool)  # the last one for nobody
            passes[at] = True
            self.unfenced &= ~passes[self.shared.writer]
            self.clocks.fence(at)

    op_membar = op_fence

    def need_fence(self, place: np.ndarray, team: np.ndarray, what: str) -> None:
        """Before the asynchronous proxy does for a team what it may do only behind a fence."""
        late = self.unfenced[place].reshape(-1)
        if late.any() and (late & ~self.shared.is_fenced(place, team)).any():
            raise PtxError(f"{what} what was written before no fence.proxy.async")


class Machine(Tma, _Fences):
    def __init__(
        self, ptx: str, num_warps: int, maps: Any = (), num_ctas: int | None = None
    ) -> None:
        text = _WGMMA.sub(lambda m: f"{m[2]}, {'true' if m[1] == 'eq' else 'false'}{m[3]};", ptx)
        super().__init__(text, num_warps, maps, num_ctas)
        self.products_done = 0

    def _run_program(self, program: tuple[int, ...], grid: tuple[int, ...], shared: int) -> None:
        # Number in the program, threads, their groups, addresses and bytes.
        self.copies: list[tuple[int, np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []
        self.copies_begun = 0
        self.copy_group = np.zeros(self.threads, np.int64)
        self.products: list[_Product] = []
        self.product_group = np.zeros(self.threads // 128 + 1, np.int64)
        self.running: dict[str, np.ndarray] = {}  # in which warpgroups products write a register
        super()._run_program(program, grid, shared)
        if self.products:
            raise PtxError("the program ends before its products do")
        if self.copies:
            raise PtxError("the program ends before its copies do")

    # -- registers of products that run -----------------------------------------------------------

    def _must_rest(self, text: str, at: np.ndarray, what: str) -> None:
        groups = self.running.get(text)
        if groups is not None and groups[at // 128].any():
            raise PtxError(f"{text} is {what} while a product writes it")

    def get(self, text: str, at: np.ndarray, kind: str = "b64") -> np.ndarray:
        self._must_rest(text, at, "read")
        return super().get(text, at, kind)

    def put(self, text: str, at: np.ndarray, values: np.ndarray) -> None:
        self._must_rest(text, at, "written")
        super().put(text, at, values)

    # -- cp.async ---------------------------------------------------------------------------------

    def op_cp(self, i: Instruction, at: np.ndarray) -> None:
        if i.has("bulk"):
            super().op_cp(i, at)
        elif i.has("commit_group"):
            self.copy_group[at] += 1
        elif i.has("wait_group"):
            self._finish_copies(at, int(i.operands[0]))
        elif i.has("mbarrier"):
            self._arrive_behind_copies(i, at)
        elif len(at):
            self._begin_copies(i, at)

    def _begin_copies(self, i: Instruction, at: np.ndarray) -> None:
        size = int(i.operands[2])
        to, source = self._locate(i, i.operands[0], at)[1], self.address(i.operands[1], at)
        copied = np.ones(len(at), bool)
        if len(i.operands) > 3:  # to ignore the source: zeros in its place
            copied = self.get(i.operands[3], at, "pred") == 0
        if (to % size).any() or (source[copied] % size).any():
            raise PtxError("a misaligned copy")
        data = np.zeros((len(at), size), np.uint8)
        if copied.any():
            data[copied] = self.memory[self._global(source[copied, None] + np.arange(size))]
        place = to[:, None] + np.arange(size)
        self._note(place, at, "copy")
        self.copies_begun += 1
        self.copies.append((self.copies_begun, at, self.copy_group[at], place, data))

    def _finish_copies(self, at: np.ndarray, pending: int) -> None:
        left = []
        for number, threads, groups, place, data in self.copies:
            done = np.isin(threads, at) & (groups < self.copy_group[threads] - pending)
            if done.any():
                self.shared.land_for(place[done], data[done], threads[done])
                self.unfenced[place[done]] = False
            if not done.all():
                left.append((number, threads[~done], groups[~done], place[~done], data[~done]))
        self.copies = left

    def land_copies(self, at: np.ndarray, last: int, column: int, epoch: int) -> None:
        """The threads' copies up to number `last` have come with a phase of an mbarrier."""
        left = []
        for number, threads, groups, place, data in self.copies:
            done = np.isin(threads, at) if number <= last else np.zeros(len(threads), bool)
            if done.any():
                self.shared.land(place[done], data[done], column, epoch)
                self.unfenced[place[done]] = False
            if not done.all():
                left.append((number, threads[~done], groups[~done], place[~done], data[~done]))
        self.copies = left

    # -- mma.sync ---------------------------------------------------------------------------------

    def _words(self, names: list[str], at: np.ndarray, kind: str) -> np.ndarray:
        """The elements of each word of each thread: (threads, words, elements)."""
        size = 8 if kind == "f64" else 4
        words = np.stack([self.get(name, at) for name in names], axis=1)
        data = words.astype(f"u{size}")[..., None].view(np.uint8)
        return elements(data, kind)

    @staticmethod
    def _matrix(words: np.ndarray, rows: int, depth: int, is_row_first: bool) -> np.ndarray:
        """Fragments of warps (warps, 32, words, elements) as matrices (warps, rows, depth)."""
        result = np.full((words.shape[0], rows, depth), np.nan)
        lane = np.arange(32)
        pack = words.shape[3]
        halves = rows // 8 if is_row_first else 1
        for word in range(words.shape[2]):
            row = lane // 4 + 8 * (word % halves)
            for j in range(pack):
                k = lane % 4 * pack + j + word // halves * 4 * pack
                result[:, row, k] = words[:, :, word, j]
        return result

    def _scales(self, i: Instruction, first: int, at: np.ndarray, lines: int,
                depth: int) -> np.ndarray:  # fmt: skip
        """The scales of operand `first` of mma.sync, from the bytes and threads that it names, one
        for each element of rows of A (16 lines) or columns of B: (warps, lines, depth)."""
        words = self.get(self._names(i.operands[first])[0], at).astype(np.uint32).reshape(-1, 32)
        byte, thread = (int(x) for x in self._names(i.operands[first + 1]))
        count = next(int(part[0]) for part in i.parts if part in ("1X", "2X", "4X"))
        if byte % count or byte + count > 4:
            raise PtxError(f"{count} scales from byte {byte} on")
        line = np.arange(lines)
        lane = line % 8 * 4 + (thread * 2 + line // 8 if lines == 16 else thread)
        data = np.ascontiguousarray(words[:, lane])[..., None].view(np.uint8)
        data = data[..., byte : byte + count].astype(np.uint8)
        if i.kind == "ue4m3":
            values = (data & 0x7F).view(ml_dtypes.float8_e4m3fn).astype(np.float64)
        else:
            values = np.where(data == 255, np.nan, np.exp2(data.astype(np.float64) - 127))
        return np.repeat(values, depth // count, axis=2)

    def _sums(self, names: list[str], at: np.ndarray, kind: str) -> np.ndarray:
        values = typed(np.stack([self.get(name, at) for name in names], axis=1), kind)
        return values.astype(np.float64 if kind[0] == "f" else np.int64)

    def _put_sums(self, names: list[str], at: np.ndarray, values: np.ndarray, kind: str) -> None:
        if kind[0] == "f":
            words = values.T.astype(np.float32 if kind == "f32" else np.float64)
        else:
            words = values.T.astype(np.int64).astype(np.int32)
        words = np.ascontiguousarray(words).view(f"u{words.itemsize}").astype(np.uint64)
        for name, word in zip(names, words, strict=True):
            self.put(name, at, word)

    def op_mma(self, i: Instruction, at: np.ndarray) -> None:
        shape = next(part for part in i.parts if re.fullmatch(r"m\d+n\d+k\d+", part))
        rows, columns, depth = (int(x) for x in re.findall(r"\d+", shape))
        kinds = i.parts[-5:-1] if i.has("block_scale") else i.parts[-4:]
        sum_kind, a_kind, b_kind, _ = kinds
        d, a, b, c = (self._names(text) for text in i.operands[:4])
        warps = len(at) // 32
        if i.has("mxf4", "mxf4nvf4"):
            a_kind = b_kind = "e2m1x2"
        left = self._words(a, at, a_kind).reshape(warps, 32, len(a), -1)
        right = self._words(b, at, b_kind).reshape(warps, 32, len(b), -1)
        x = self._matrix(left, rows, depth, True)
        y = self._matrix(right, columns, depth, False)
        if i.has("block_scale"):
            x = x * self._scales(i, 4, at, rows, depth)
            y = y * self._scales(i, 6, at, columns, depth)
        product = np.einsum("wmk,wnk->wmn", x, y)
        sums = self._sums(c, at, sum_kind)
        lane, warp = np.tile(np.arange(32), warps), np.repeat(np.arange(warps), 32)
        for k in range(len(d)):
            row, column = lane // 4 + 8 * (k // 2), lane % 4 * 2 + k % 2
            sums[:, k] += product[warp, row, column].astype(sums.dtype)
        self._put_sums(d, at, sums, sum_kind)
        self.products_done += 1

    # -- wgmma ------------------------------------------------------------------------------------

    def op_wgmma(self, i: Instruction, at: np.ndarray) -> None:
        if (
            len(at) % 128
            or self.cta_threads % 128
            or (at.reshape(-1, 128) != at[::128, None] + np.arange(128)).any()
        ):
            raise PtxError("a part of a warpgroup")
        if i.has("fence"):
            return
        for group in at.reshape(-1, 128):
            number = group[0] // 128
            if i.has("commit_group"):
                for product in self.products:
                    if product.threads[0] == group[0] and product.group < 0:
                        product.group = self.product_group[number]
                self.product_group[number] += 1
            elif i.has("wait_group"):
                self._finish_products(group, self.product_group[number] - int(i.operands[0]))
            else:
                self._begin_product(i, group)

    def _begin_product(self, i: Instruction, group: np.ndarray) -> None:
        shape = next(part for part in i.parts if part.startswith("m64n"))
        _, columns, depth = (int(x) for x in re.findall(r"\d+", shape))
        sums = self._names(i.operands[0])
        a_kind, b_kind = i.parts[-2:]
        adds, flags = i.operands[3] == "true", [int(x) for x in i.operands[4:]]
        trans_b = bool(flags[-1]) if len(flags) > 2 else False
        places, a = [], None
        if i.operands[1].startswith("{"):
            a = self._words(self._names(i.operands[1]), group, a_kind)
        else:
            trans_a = bool(flags[2]) if len(flags) > 3 else False
            places.append(self._operand_places(i.operands[1], group, 64, a_kind, trans_a))
        places.append(self._operand_places(i.operands[2], group, columns, b_kind, trans_b))
        data = [self._read_operand(place, group) for place in places]
        kinds = [a_kind, b_kind, i.parts[-3]]
        product = _Product(group, sums, adds, kinds, a, places, data, i.number)
        self.products.append(product)
        self._mark(product)

    def _mark(self, product: _Product) -> None:
        number = product.threads[0] // 128
        for name in product.sums:
            groups = self.running.setdefault(name, np.zeros(len(self.product_group), bool))
            groups[number] = True

    def _operand_places(self, text: str, group: np.ndarray, lines: int, kind: str,
                        transposed: bool) -> np.ndarray:  # fmt: skip
        """The addresses of an operand's bytes, (lines, 32)."""
        values = self.get(text, group)
        if (values != values[0]).any():
            raise PtxError("threads of a warpgroup give different descriptors")
        descriptor = int(values[0])
        start = (descriptor & 0x3FFF) << 4
        leading, stride = ((descriptor >> at & 0x3FFF) << 4 for at in (16, 32))
        width = {1: 128, 2: 64, 3: 32}[descriptor >> 62]
        line, byte = np.arange(lines)[:, None], np.arange(32)[None, :]
        if transposed:
            size = np.dtype(_NUMBERS[kind]).itemsize
            depth, inside = byte // size, byte % size
            along = line * size
            place = (start + along // width * leading + depth // 8 * stride + depth % 8 * width
                     + along % width + inside)  # fmt: skip
        else:
            place = start + line // 8 * stride + line % 8 * width + byte
        place += self.cta[group[0]] * self.pitch
        return place ^ (place >> 7 & width // 16 - 1) << 4

    def _read_operand(self, place: np.ndarray, group: np.ndarray) -> np.ndarray:
        self.check_inside(place, len(self.shared.data))
        self.shared.hold(place, group, self.now)
        self.need_fence(place, group, "wgmma reads")
        return self.shared.data[place].copy()

    def _finish_products(self, group: np.ndarray, before: int) -> None:
        left, done = [], []
        for product in self.products:
            is_done = product.threads[0] == group[0] and 0 <= product.group < before
            (done if is_done else left).append(product)
        self.products = left
        for product in done:
            for place, data in zip(product.places, product.data):
                if (self.shared.data[place] != data).any():
                    raise PtxError("an operand changed while wgmma read it")
                self.shared.let_go(place, group)
            for name in product.sums:
                groups = self.running.get(name)
                if groups is not None:
                    groups[group[0] // 128] = False
                    if not groups.any():
                        del self.running[name]
            self._finish(product)
        for product in left if done else ():
            if product.threads[0] == group[0]:
                self._mark(product)
                for place in product.places:
                    self.shared.keep(place, group, product.code)

    def _finish(self, product: _Product) -> None:
        a_kind, b_kind, sum_kind = product.kinds
        if product.a is None:
            x = elements(product.data[0], a_kind)
        else:
            words = product.a.reshape(4, 32, 4, -1)
            x = self._matrix(words, 16, 4 * 2 * words.shape[3], True).reshape(64, -1)
        y = elements(product.data[-1], b_kind)
        result = x @ y.T
        at, count = product.threads, len(product.sums)
        values = np.zeros((128, count), np.float64 if sum_kind == "f32" else np.int64)
        if product.adds:
            values = self._sums(product.sums, at, sum_kind)
        thread, k = np.arange(128)[:, None], np.arange(count)
        row = thread // 32 * 16 + thread % 32 // 4 + k // 2 % 2 * 8
        column = thread % 4 * 2 + k % 2 + k // 4 * 8
        values += result[row, column].astype(values.dtype)
        self._put_sums(product.sums, at, values, sum_kind)
        self.products_done += 1

    # -- conversions ------------------------------------------------------------------------------

    def op_cvt(self, i: Instruction, at: np.ndarray) -> None:
        if i.has("tf32"):
            bits = self.get(i.operands[1], at, "b32") + np.uint64(0x1000) & np.uint64(0xFFFFE000)
            self.put(i.operands[0], at, bits)
        elif i.has("e4m3x2", "e5m2x2") and i.parts[-2] == "f16x2":
            pair = self.get(i.operands[1], at).astype(np.uint16)[:, None].view(np.uint8)
            values = pair.view(_NUMBERS[i.kind[:4]]).astype(np.float16)
            self.put(i.operands[0], at, np.ascontiguousarray(values))
        elif i.has("e4m3x2", "e5m2x2") and i.kind == "f16x2":
            both = self.get(i.operands[1], at, "b32").astype(np.uint32)[:, None].view(np.float16)
            kind = _NUMBERS[i.parts[-2].removesuffix("x2")]
            limit = np.float32(ml_dtypes.finfo(kind).max)
            values = np.clip(both.astype(np.float32), -limit, limit).astype(kind)
            self.put(i.operands[0], at, np.ascontiguousarray(values))
        elif len(i.operands) == 3:  # two floats to a pair, the second one low
            pair = [self.number(name, at, i.kind) for name in (i.operands[2], i.operands[1])]
            kind = _NUMBERS[i.parts[-2].removesuffix("x2")]
            if i.has("satfinite"):  # infinities too
                limit = np.float32(ml_dtypes.finfo(kind).max)
                pair = [np.clip(x.astype(np.float32), -limit, limit) for x in pair]
            self.put(i.operands[0], at, np.stack([x.astype(kind) for x in pair], axis=1))
        else:
            super().op_cvt(i, at)


def machine_for(kernel: Any) -> Machine:
    """The machine with the code of a compiled kernel, its tensor maps and scratch memory, in the
    clusters that launches of it ask for."""
    maps, num_ctas = kernel.data.get("tensor_maps", ()), kernel.data.get("num_ctas")
    machine = Machine(kernel.asm["ptx"], kernel.metadata.num_warps, maps, num_ctas)
    machine.scratch = kernel.data["global_scratch_size"]
    return machine


def run(kernel: Any, arguments: Any, grid: tuple[int, ...] = (1,)) -> Machine:
    """Runs a compiled kernel (`fn.warmup(..., arch=...)`) on NumPy arrays and scalars."""
    machine = machine_for(kernel)
    machine.run((*grid, 1, 1)[:3], arguments, kernel.metadata.shared)
    return machine
