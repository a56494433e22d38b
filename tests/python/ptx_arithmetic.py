"""Moves, conversions, comparisons and arithmetic of the machine of ptx_machine.py."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
from ptx_instruction import Instruction, NotInMachine
from ptx_numbers import FLOATS, bits_of, fused, to_odd, toward_zero, whole


class Arithmetic:
    """Instructions that touch registers only. ``get``, ``number`` and ``put`` are the machine's."""

    get: Callable[..., np.ndarray]
    number: Callable[..., np.ndarray]
    put: Callable[..., None]
    _names: Callable[[str], list[str]]
    _COMBINE: dict[str, Callable[[Any, Any], Any]]

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

    _ROUNDINGS = {"rmi": np.floor, "rpi": np.ceil, "rzi": np.trunc, "rni": np.rint}

    def op_cvt(self, i: Instruction, at: np.ndarray) -> None:
        target, source = i.parts[-2], i.parts[-1]
        if target.endswith("x2"):
            raise NotImplementedError(f"{i.parts}: ptx_matrix_machine.py has conversions to pairs")
        values = self.number(i.operands[1], at, source)
        for mode, function in self._ROUNDINGS.items():
            if i.has(mode):  # to a whole number
                values = function(values.astype(np.float64))
        if target in FLOATS:
            if target == "bf16" and (source not in FLOATS or source == "f64"):
                values = to_odd(values)  # else NumPy rounds to fp32 first
            exact, values = values, values.astype(FLOATS[target])
            if i.has("rz"):
                values = toward_zero(exact, values)
            if i.has("sat"):  # to 0 to 1, and a NaN to 0
                values = np.where(values > 0, np.minimum(values, 1), 0).astype(values.dtype)
        elif source in FLOATS:
            values = whole(values, target, source)
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
        if i.kind.removesuffix("x2") in FLOATS:
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

    @staticmethod
    def _sum(i: Instruction, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if not i.has("rz"):
            return a + b
        if a.dtype == np.float64:
            exact = a.astype(np.longdouble) + b
        else:
            exact = fused(a, np.ones_like(a), b)
        return toward_zero(exact, exact.astype(a.dtype))

    def op_add(self, i: Instruction, at: np.ndarray) -> None:
        self._binary(i, at, lambda a, b: self._sum(i, a, b))

    def op_sub(self, i: Instruction, at: np.ndarray) -> None:
        self._binary(i, at, lambda a, b: self._sum(i, a, -b) if i.has("rz") else a - b)

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
        if i.has("cc") or i.parts[0] == "madc":
            self._mad_with_carry(i, at)
            return
        product = self._product(i, a, b)
        kind = i.kind[0] + str(8 * product.dtype.itemsize)
        self.put(i.operands[0], at, product + self.number(i.operands[3], at, kind))

    op_madc = op_mad

    def _mad_with_carry(self, i: Instruction, at: np.ndarray) -> None:
        if i.kind != "u32":
            raise NotInMachine(f"no instruction '{i.text}'")
        a, b, c = (self.number(name, at, "u32").astype(np.uint64) for name in i.operands[1:4])
        carry = self.get("%carry", at) if i.parts[0] == "madc" else np.uint64(0)
        product = a * b >> np.uint64(32) if i.has("hi") else a * b & np.uint64(0xFFFFFFFF)
        total = product + c + carry
        self.put(i.operands[0], at, total & np.uint64(0xFFFFFFFF))
        if i.has("cc"):
            self.put("%carry", at, total >> np.uint64(32))

    def op_sad(self, i: Instruction, at: np.ndarray) -> None:
        self._binary(i, at, lambda a, b, c: np.maximum(a, b) - np.minimum(a, b) + c)

    def op_fma(self, i: Instruction, at: np.ndarray) -> None:
        a, b, c = (self.number(name, at, i.kind) for name in i.operands[1:4])
        if i.parts[-2] == "f32" and i.kind in ("f16", "bf16"):
            a, b = a.astype(np.float32), b.astype(np.float32)
            c = self.number(i.operands[3], at, "f32")
        exact = fused(a, b, c)
        values = toward_zero(exact, exact.astype(a.dtype)) if i.has("rz") else exact.astype(a.dtype)
        self.put(i.operands[0], at, self._clamped(i, values))

    def op_div(self, i: Instruction, at: np.ndarray) -> None:
        def quotients(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            if i.kind in FLOATS:
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
        self._extreme(i, at, np.minimum)

    def op_max(self, i: Instruction, at: np.ndarray) -> None:
        self._extreme(i, at, np.maximum)

    def _extreme(self, i: Instruction, at: np.ndarray, strict: Any) -> None:
        """Of two operands, three from sm_100 on; -0 is less than +0, and a number wins over a NaN
        (np.fmin of a signaling NaN is NaN) unless ``.NaN`` is named."""
        if i.kind[0] in "us":
            self._binary(i, at, lambda a, b: self._clamped(i, strict(a, b)))
            return

        def one(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            zeros = (a == 0) & (b == 0)
            negative = np.signbit(a) | np.signbit(b)
            if strict is np.maximum:
                negative = np.signbit(a) & np.signbit(b)
            zero = np.where(negative, -0.0, 0.0).astype(a.dtype)
            found = strict(a, b)
            if not i.has("NaN"):
                found = np.where(np.isnan(a), b, np.where(np.isnan(b), a, found))
            return np.where(zeros, zero, found).astype(a.dtype)

        self._binary(i, at, lambda *values: self._clamped(i, reduce(one, values)))

    def _clamped(self, i: Instruction, values: np.ndarray) -> np.ndarray:
        """What is below 0 becomes 0, as a NaN stays, where the instruction says so."""
        return np.where(values < 0, values.dtype.type(0), values) if i.has("relu") else values

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
