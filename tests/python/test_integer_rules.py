"""Binary operators of integers follow Triton: every pair of dtypes, numbers on either side, in both
CPU modes and on GPUs. What Triton does stands in data/integer_rules.txt.
"""

from __future__ import annotations

import operator
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import blockscope
import blockscope.language as tl
import gpu_rows
import numpy as np
import ptx_machine
import pytest
from blockscope.language.core import builtin
from blockscope.runtime.jit import MockTensor

DTYPES = ("int1", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
NUMBERS = ("True", "0", "3", "-3", "200", "40000", "2147483648", "1099511627776")
OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "and": operator.and_, "or": operator.or_,
    "xor": operator.xor, "lshift": operator.lshift, "rshift": operator.rshift, "eq": operator.eq,
    "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "minimum": tl.minimum, "maximum": tl.maximum,
}  # fmt: skip
COUNT = 64


def read_table() -> dict[tuple[str, str, str], str]:
    """(operator, left, right) -> the dtype and operation of the result, or the error."""
    table = {}
    for line in (Path(__file__).parent / "data" / "integer_rules.txt").read_text().splitlines():
        if not line.startswith("#"):
            (name, left, _), cells = line.split(" ", 3)[:3], line.split(" | ")[1].split()
            for right, cell in zip((*DTYPES, *NUMBERS), cells):
                table[name, left, right] = cell
    return table


TABLE = read_table()
PAIRS = list(dict.fromkeys((left, right) for _, left, right in TABLE))


class Runner:
    """Applies operators to two operands in a kernel; keeps each result's dtype, or its error."""

    def __init__(self, left: str, right: str, names: tuple[str, ...] = tuple(OPERATORS)) -> None:
        self.names = names
        self.numbers = [int(n == "True" or n) if n in NUMBERS else None for n in (left, right)]
        self.bools = [n == "True" for n in (left, right)]
        self.found: dict[str, str] = {}

    def __call__(self, a: Any, b: Any, out: Any, quotients: Any) -> None:
        a, b = (
            value if number is None else bool(number) if is_bool else number
            for value, number, is_bool in zip((a, b), self.numbers, self.bools)
        )
        for row, name in enumerate(OPERATORS):
            if name not in self.names:
                continue
            try:
                result = OPERATORS[name](a, b)
            except (TypeError, ValueError) as error:
                self.found[name] = type(error).__name__
                continue
            self.found[name] = str(result.dtype)
            to = quotients if result.dtype.is_floating() else out
            tl.store(to + row * COUNT, result.to(to.dtype.element_ty))


@blockscope.jit
def apply(x, y, out, quotients, RUN: tl.constexpr):
    i = tl.arange(0, 64)
    RUN(tl.load(x + i), tl.load(y + i), out + i, quotients + i)


def operand(dtype: str, seed: int) -> np.ndarray:
    """The limits, small numbers of both signs and random bits, in an order of its own."""
    kind = np.dtype("bool" if dtype == "int1" else dtype)
    random = np.random.default_rng(seed)
    if dtype == "int1":
        return random.integers(0, 2, COUNT).astype(kind)
    info = np.iinfo(kind)
    small = np.arange(16) - (4 if info.min else 0)
    edges = [info.min, info.max, info.max // 2, info.min + 1]
    rest = random.integers(info.min, info.max, COUNT - 20, kind, endpoint=True)
    return random.permutation(np.concatenate([small, edges, rest]).astype(kind))


def wrap(value: int, width: int, is_signed: bool) -> int:
    value &= (1 << width) - 1
    return value - (1 << width) if is_signed and value >> (width - 1) else value


def compute(operation: str, left: int, right: int) -> int:
    """One element. Division by 0 gives 0, a shift by the width or more what shifting on gives."""
    name, width = (
        operation.rstrip("0123456789"),
        int(operation.lstrip("abcdefghijklmnopqrstuvwxyz")),
    )
    is_signed = name.endswith("si") or name in ("slt", "sle", "sgt", "sge")
    x, y = wrap(left, width, is_signed), wrap(right, width, is_signed)
    amount = min(wrap(right, width, False), width)
    match name.removesuffix("si").removesuffix("ui").removesuffix("i"):
        case "add":
            return x + y
        case "sub":
            return x - y
        case "mul":
            return x * y
        case "and":
            return x & y
        case "or":
            return x | y
        case "xor":
            return x ^ y
        case "shl":
            return x << amount
        case "shr":
            return x >> amount
        case "div" | "rem" as which:
            if y == 0:
                return 0
            quotient = abs(x) // abs(y) * (-1 if (x < 0) != (y < 0) else 1)
            return quotient if which == "div" else x - quotient * y
        case "min":
            return min(x, y)
        case "max":
            return max(x, y)
        case compare:
            return int(getattr(operator, compare[-2:])(x, y))


def expected(name: str, left: str, right: str, x: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    """The results of one operator, as int64 or float32; None where it is an error."""
    cell = TABLE[name, left, right]
    if ":" not in cell:
        return None
    dtype, operation = cell.split(":")
    if dtype == "fp32":
        with np.errstate(all="ignore"):
            return x.astype(np.float32) / y.astype(np.float32)
    is_signed = dtype.startswith("int") and dtype != "int1"
    width = int(dtype.lstrip("uint"))
    results = (compute(operation, int(a), int(b)) for a, b in zip(x, y))
    return np.array([wrap(wrap(r, width, is_signed), 64, True) for r in results], np.int64)


def operands(left: str, right: str) -> tuple[np.ndarray, np.ndarray]:
    """Blocks for dtypes; numbers as blocks of themselves, which the kernel does not load."""
    return tuple(
        np.full(COUNT, name == "True" or int(name), np.int64)
        if name in NUMBERS
        else operand(name, zlib.crc32(f"{left} {right} {place}".encode()))
        for place, name in enumerate((left, right))
    )  # type: ignore[return-value]


def results() -> tuple[np.ndarray, np.ndarray]:
    return (
        np.zeros((len(OPERATORS), COUNT), np.int64),
        np.zeros((len(OPERATORS), COUNT), np.float32),
    )


def check_values(
    pair: tuple[str, str],
    blocks: Any,
    out: np.ndarray,
    quotients: np.ndarray,
    names: tuple[str, ...] = tuple(OPERATORS),
    defined: Any = slice(None),
    ulps: int = 0,
) -> None:
    for row, name in enumerate(OPERATORS):
        wanted = expected(name, *pair, *blocks)
        if wanted is None or name not in names:
            continue
        if wanted.dtype == np.int64:
            np.testing.assert_array_equal(out[row][defined], wanted[defined], f"{name} {pair}")
        else:
            np.testing.assert_allclose(quotients[row], wanted, ulps * 2.0**-23, err_msg=f"{pair}")


def test_the_table_is_whole() -> None:
    assert len(PAIRS) == len(DTYPES) * (len(DTYPES) + 2 * len(NUMBERS))
    assert len(TABLE) == len(PAIRS) * len(OPERATORS)
    assert TABLE["rshift", "int8", "uint8"] == "uint8:shrsi8"


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_pair(left: str, right: str) -> None:
    blocks = operands(left, right)
    whole = results()
    runner = Runner(left, right)
    apply[(1,)](*blocks, *whole, RUN=builtin(runner))
    wanted = {name: TABLE[name, left, right].split(":")[0] for name in OPERATORS}
    assert runner.found == wanted
    check_values((left, right), blocks, *whole)
    stepped = results()
    blockscope.set_interpret_mode(True)
    try:
        apply[(1,)](*blocks, *stepped, RUN=builtin(runner))
    finally:
        blockscope.set_interpret_mode(False)
    for one, other in zip(whole, stepped):
        assert one.tobytes() == other.tobytes()


DIVISIONS = ("floordiv", "mod")
OTHERS = tuple(name for name in OPERATORS if name not in DIVISIONS)


def compiled(left: str, right: str, names: tuple[str, ...] = tuple(OPERATORS)) -> Any:
    dtypes = ["int64" if name in NUMBERS else name for name in (left, right)] + ["int64", "fp32"]
    mocks = [MockTensor(tl.dtype(name)) for name in dtypes]
    run = builtin(Runner(left, right, names))
    return apply.warmup(*mocks, RUN=run, grid=(1,), arch="sm_90a")


@pytest.mark.skipif(not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed")
@pytest.mark.parametrize("left", [*DTYPES, *NUMBERS])
def test_pairs_on_a_gpu(left: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All are assembled; of each left operand one runs on the machine for PTX. Divisions run apart:
    where a divisor is 0, what the compiler makes of the other operators is undefined as well.
    """
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    mine = [pair for pair in PAIRS if pair[0] == left]
    with gpu_rows.pool(compiled, mine) as kernels:
        for kernel in kernels.values():
            assert kernel.result().warnings == []
    pair = mine[zlib.crc32(left.encode()) % len(mine)]
    blocks = operands(*pair)
    for names, defined in (OTHERS, blocks[1] == blocks[1]), (DIVISIONS, blocks[1] != 0):
        out, quotients = results()
        ptx_machine.run(compiled(*pair, names), [*blocks, out.ravel(), quotients.ravel()])
        check_values(pair, blocks, out, quotients, names, defined, ulps=2)
