"""Bits, bytes and fields of integers."""

from __future__ import annotations

from collections.abc import Callable

from inline_asm_cases.case import AsmCase
from inline_asm_cases.formulas import ints


def lop3(a: int, b: int, c: int, table: int) -> int:
    return sum(
        (table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1) & 1) << i for i in range(32)
    )


def prmt(a: int, b: int, selector: int) -> int:
    both = [(b << 32 | a) >> 8 * i & 255 for i in range(8)]

    def pick(nibble: int) -> int:
        byte = both[nibble & 7]
        return (255 if byte >> 7 else 0) if nibble & 8 else byte

    return sum(pick(selector >> 4 * i & 15) << 8 * i for i in range(4))


_PERMUTED = {  # what each mode of prmt takes, by the two low bits of its selector
    "f4e": (0x3210, 0x4321, 0x5432, 0x6543),
    "b4e": (0x5670, 0x6701, 0x7012, 0x0123),
    "rc8": (0x0000, 0x1111, 0x2222, 0x3333),
    "ecl": (0x3210, 0x3211, 0x3222, 0x3333),
    "ecr": (0x0000, 0x1110, 0x2210, 0x3210),
    "rc16": (0x1010, 0x3232, 0x1010, 0x3232),
}


def bfe(bits: int, signed: bool) -> Callable[..., int]:
    def call(a: int, position: int, size: int) -> int:
        position, size = _bit_count(position, bits), _bit_count(size, bits)
        if size == 0:
            return 0
        a &= (1 << bits) - 1
        top = min(position + size - 1, bits - 1)
        sign = signed and a >> top & 1
        return sum(
            (a >> position + i & 1 if i < size and position + i < bits else int(bool(sign))) << i
            for i in range(bits)
        )

    return call


def _bit_count(operand: int, bits: int) -> int:
    """As an H200 takes it; PTX says that all widths look at 8 bits."""
    return min(operand, 64) if bits == 64 else operand & 255


def bfi(bits: int) -> Callable[..., int]:
    def call(a: int, b: int, position: int, size: int) -> int:
        position, size = _bit_count(position, bits), _bit_count(size, bits)
        for i in range(size):
            if position + i < bits:
                b = b & ~(1 << position + i) | (a >> i & 1) << position + i
        return b

    return call


def fns(mask: int, base: int, n: int) -> int:
    places = range(base, 32) if n > 0 else range(base, -1, -1) if n < 0 else [base]
    found = [place for place in places if mask >> place & 1]
    return found[abs(n) - 1 if n else 0] if len(found) >= max(1, abs(n)) else -1


def bfind(bits: int, signed: bool) -> Callable[[int], int]:
    def call(a: int) -> int:
        if signed and a < 0:
            a = ~a
        return a.bit_length() - 1

    return call


def _sign_extended(a: int, n: int) -> int:
    if n == 0:
        return 0
    a &= (1 << n) - 1
    return a - (1 << n) if a >> n - 1 else a


def bit_rows() -> list[AsmCase]:
    rows = []
    for bits in (16, 32, 64):
        t = f"u{bits}"
        full = (1 << bits) - 1
        for name, f in (
            ("and", lambda a, b: a & b), ("or", lambda a, b: a | b), ("xor", lambda a, b: a ^ b)
        ):  # fmt: skip
            text = f"{name}.b{bits} $0, $1, $2;"
            rows.append(AsmCase(f"{name}.b{bits}", text, (t, t), t, ints(t, f)))
        rows += [
            AsmCase(f"not.b{bits}", f"not.b{bits} $0, $1;", (t,), t, ints(t, lambda a: ~a)),
            AsmCase(f"cnot.b{bits}", f"cnot.b{bits} $0, $1;", (t,), t, ints(t, lambda a: a == 0)),
            AsmCase(
                f"shl.b{bits}", f"shl.b{bits} $0, $1, $2;", (t, "u32"), t,
                ints(t, lambda a, n, w=bits: a << n if n < w else 0),
            ),
            AsmCase(
                f"shr.u{bits}", f"shr.u{bits} $0, $1, $2;", (t, "u32"), t,
                ints(t, lambda a, n: a >> n),
            ),
            AsmCase(
                f"shr.s{bits}", f"shr.s{bits} $0, $1, $2;", (f"s{bits}", "u32"), f"s{bits}",
                ints(f"s{bits}", lambda a, n: a >> n),
            ),
        ]  # fmt: skip
        if bits == 16:
            continue
        rows += [
            AsmCase(
                f"bfe.u{bits}", f"bfe.u{bits} $0, $1, $2, $3;", (t, "u32", "u32"), t,
                ints(t, bfe(bits, False)),
            ),
            AsmCase(
                f"bfe.s{bits}", f"bfe.s{bits} $0, $1, $2, $3;", (f"s{bits}", "u32", "u32"), t,
                ints(t, bfe(bits, True)),
            ),
            AsmCase(
                f"bfi.b{bits}", f"bfi.b{bits} $0, $1, $2, $3, $4;", (t, t, "u32", "u32"), t,
                ints(t, bfi(bits)),
            ),
            AsmCase(
                f"bfind.u{bits}", f"bfind.u{bits} $0, $1;", (t,), "u32",
                ints("u32", bfind(bits, False)),
            ),
            AsmCase(
                f"bfind.s{bits}", f"bfind.s{bits} $0, $1;", (f"s{bits}",), "u32",
                ints("u32", bfind(bits, True)),
            ),
            AsmCase(
                f"bfind.shiftamt.u{bits}", f"bfind.shiftamt.u{bits} $0, $1;", (t,), "u32",
                ints("u32", lambda a, w=bits: w - a.bit_length() if a else -1),
            ),
            AsmCase(
                f"popc.b{bits}", f"popc.b{bits} $0, $1;", (t,), "u32",
                ints("u32", lambda a: a.bit_count()),
            ),
            AsmCase(
                f"clz.b{bits}", f"clz.b{bits} $0, $1;", (t,), "u32",
                ints("u32", lambda a, w=bits: w - a.bit_length()),
            ),
            AsmCase(
                f"brev.b{bits}", f"brev.b{bits} $0, $1;", (t,), t,
                ints(t, lambda a, w=bits: int(format(a, f"0{w}b")[::-1], 2)),
            ),
        ]  # fmt: skip
        assert full
    for table in (0xF8, 0xEA, 0x96, 0x1B):
        rows.append(
            AsmCase(
                f"lop3.{table:#x}", f"lop3.b32 $0, $1, $2, $3, {table:#x};", ("u32",) * 3, "u32",
                ints("u32", lambda a, b, c, t=table: lop3(a, b, c, t)),
            )
        )  # fmt: skip
    rows.append(AsmCase("prmt", "prmt.b32 $0, $1, $2, $3;", ("u32",) * 3, "u32", ints("u32", prmt)))
    for mode, selectors in _PERMUTED.items():
        rows.append(
            AsmCase(
                f"prmt.{mode}", f"prmt.b32.{mode} $0, $1, $2, $3;", ("u32",) * 3, "u32",
                ints("u32", lambda a, b, c, s=selectors: prmt(a, b, s[c & 3])),
            )
        )  # fmt: skip
    for direction in ("l", "r"):
        for mode in ("wrap", "clamp"):

            def funnel(a: int, b: int, c: int, direction: str = direction, mode: str = mode) -> int:
                n = c & 31 if mode == "wrap" else min(c, 32)
                both = b << 32 | a
                return both << n >> 32 if direction == "l" else both >> n

            name = f"shf.{direction}.{mode}.b32"
            rows.append(
                AsmCase(name, f"{name} $0, $1, $2, $3;", ("u32",) * 3, "u32", ints("u32", funnel))
            )
    rows += [
        AsmCase(
            "szext.clamp.s32", "szext.clamp.s32 $0, $1, $2;", ("s32", "u32"), "s32",
            ints("s32", lambda a, n: _sign_extended(a, min(n, 32))),
        ),
        AsmCase(
            "bmsk.clamp.b32", "bmsk.clamp.b32 $0, $1, $2;", ("u32", "u32"), "u32",
            ints("u32", lambda a, b: ((1 << min(b, 32)) - 1) << min(a, 32)),
        ),
        AsmCase(
            "bmsk.wrap.b32", "bmsk.wrap.b32 $0, $1, $2;", ("u32", "u32"), "u32",
            ints("u32", lambda a, b: ((1 << (b & 31)) - 1) << (a & 31)),
        ),
        AsmCase(
            "fns.b32",
            "{ .reg .b32 at, n; and.b32 at, $2, 31; bfe.s32 n, $3, 0, 4; fns.b32 $0, $1, at, n; }",
            ("u32", "u32", "s32"), "u32",
            ints("u32", lambda a, b, n: fns(a, b & 31, _sign_extended(n, 4))),
        ),
    ]  # fmt: skip
    return rows
