"""Grows a random kernel from a seed. Expressions grow from what is wanted (dtype and shape) to
operands; the rules of how to make one are in the files beside this one, by family.

Levels: 0, every operation gives the same bits everywhere; 1, the same bits on the CPU as in NumPy
(sums in the documented order, fp32 division); 2, anything (exp and so on, no value in NumPy).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from random_kernels import tree
from random_kernels.dtypes import (
    BF16,
    BOOL,
    DTYPES,
    F16,
    F32,
    F64,
    FP8,
    I32,
    I64,
    U32,
    DType,
    convert,
)  # fmt: skip
from random_kernels.tree import CONDITION, INDEX, Buffer, Expr, Kind, Stmt, Var

Rule = Callable[["Grower", Kind, int], "Expr | None"]


@dataclass
class _Row:
    rule: Rule
    weight: float
    level: int


RULES: list[_Row] = []


def rule(weight: float = 1.0, level: int = 0) -> Callable[[Rule], Rule]:
    """A way to make an expression of a wanted kind; gives None where it cannot."""

    def add(function: Rule) -> Rule:
        RULES.append(_Row(function, weight, level))
        return function

    return add


class Grower:
    def __init__(self, seed: int, level: int | None = None) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        drawn = self.random.choice([0, 0, 0, 0, 1, 1, 2])
        self.level = drawn if level is None else level
        self.buffers: list[Buffer] = []
        self.scalars: dict[str, Any] = {}
        self.constants: dict[str, int] = {}
        self.scope: list[Var] = []
        self.functions: list[tree.Function] = []
        self.held: dict[str, tuple[str, tuple[Var, Var]]] = {}  # structures.hold
        self.nesting = 0  # of blocks that grow
        self.count = 0
        self.grid = (1, 1)
        self.is_function = False
        self.loops: list[str] = []  # the counters of the loops around
        self.statements: list[Stmt] = []  # where the block that grows now puts its next one
        self.rows = [row for row in RULES if row.level <= self.level]
        self.largest = self.pick([64, 256, 256, 256, 2048])  # elements of a block
        self.input_size = max(512, 2 * self.largest)  # elements of an input, a power of two
        # Each kernel knows a part of the rules, so that rare ones meet each other.
        weights = [row.weight * self.random.choice([0.2, 1, 1, 3]) for row in self.rows]
        self.weights = weights
        # And few dtypes and shapes, so that variables are used again.
        self.shapes = [self._shape() for _ in range(3)]
        self.dtypes = [self._dtype() for _ in range(3)]

    # -- choices ----------------------------------------------------------------------------------

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def pick(self, options: Any) -> Any:
        return self.random.choice(list(options))

    def name(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def dtype(self) -> DType:
        return self.pick(self.dtypes) if self.chance(0.7) else self._dtype()

    def shape(self) -> tuple[int, ...]:
        return self.pick(self.shapes) if self.chance(0.8) else self._shape()

    def _dtype(self) -> DType:
        common = [I32, I32, F32, F32, BOOL, F16, BF16, F64, I64, U32]
        return self.pick(common if self.chance(0.7) else DTYPES.values())

    def _shape(self) -> tuple[int, ...]:
        rank = self.random.choices([0, 1, 2, 3], [1, 4, 5, 1.5])[0]
        while True:
            sizes = (
                [1, 2, 4, 8, 16, 32] + [64, 128] * (rank == 1) + [256, 1024] * (self.largest > 256)
            )
            shape = tuple(self.pick(sizes) for _ in range(rank))
            if np.prod(shape) <= self.largest:
                return shape

    # -- arguments --------------------------------------------------------------------------------

    def buffer(self, dtype: DType, letter: str, count: int, style: str | None = None) -> Buffer:
        style = style or self.pick(["bits", "edges", "small", "normal"])
        buffer = Buffer(self.name(letter), dtype, count, style, self.random.randrange(1 << 30))
        self.buffers.append(buffer)
        return buffer

    def input(self, dtype: DType) -> Buffer:
        known = [b for b in self.buffers if b.name[0] == "x" and b.dtype == dtype]
        if known and self.chance(0.8):
            return self.pick(known)
        return self.buffer(dtype, "x", self.input_size)

    # -- expressions ------------------------------------------------------------------------------

    def expr(self, kind: Kind, depth: int) -> Expr:
        same = [var for var in self.scope if var.kind == kind]
        if same and self.chance(0.4):
            return self.pick(same)
        if depth > 0:
            for row in self.random.choices(self.rows, self.weights, k=25):
                made = row.rule(self, kind, depth - 1)
                if made is not None:
                    return made
        return self.leaf(kind)

    def leaf(self, kind: Kind) -> Expr:
        from random_kernels import memory

        same = [var for var in self.scope if var.kind == kind]
        if same and self.chance(0.9):
            return self.pick(same)
        if self.is_function and self.chance(0.8):
            near = [v for v in self.scope if v.kind.shape == kind.shape]
            if near and kind.dtype.family != "8":
                var = self.pick(near)
                if var.kind.dtype.family != "8" or kind.dtype.is_float:
                    return Expr(kind, f"{{0}}.to({kind.dtype})", var,
                                value=lambda a: convert(a, kind.dtype))  # fmt: skip
        if self.is_function or self.chance(0.3):
            return tree.constant(kind, self.number(kind.dtype))
        return memory.load(self, kind)

    def number(self, dtype: DType) -> Any:
        """A Python number of the dtype, small ones and edges more often."""
        if dtype.family == "b":
            return self.chance(0.5)
        if dtype.is_integer:
            low = 0 if dtype.family == "u" else -(1 << (dtype.bits - 1))
            high = low + (1 << dtype.bits) - 1
            return self.pick(
                [0, 1, 2, 3, 7, max(low, -1), low, high, self.random.randint(low, high)]
            )
        return self.pick([0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 10.0, -0.0])

    def var(self, kind: Kind, value: Expr, letter: str = "v") -> Var:
        """A new variable that holds a value."""
        var = Var(kind, self.name(letter))
        self.statements.append(tree.Assign(var, value))
        if not isinstance(value, Var) and self.chance(0.3):
            self.statements.append(tree.Expect(var))
        return var

    def small(self, kind: Kind, depth: int) -> Expr:
        """Whole numbers from -3 to 4 (0 to 7 if unsigned), sums of which are exact."""
        index = self.expr(Kind(I32, kind.shape), depth)
        low = 0 if kind.dtype.family in "ub" else 3
        return Expr(
            kind, f"(({{0}} & 7) - {low}).to({kind.dtype})", index,
            value=lambda x: convert((x & 7) - np.int32(low), kind.dtype),
        )  # fmt: skip

    # -- the kernel -------------------------------------------------------------------------------

    @contextmanager
    def block(self) -> Any:
        """Inside, statements go to a block of their own; its variables end with it."""
        outer, scope = self.statements, list(self.scope)
        self.statements, self.nesting = [], self.nesting + 1
        yield self.statements
        self.statements, self.scope, self.nesting = outer, scope, self.nesting - 1

    @property
    def is_nested(self) -> bool:
        """Whether statements are in a loop, a branch or a function."""
        return self.nesting > 1

    def kernel(self) -> tree.Kernel:
        from random_kernels import statements

        self.grid = self.pick([(1, 1), (1, 1), (2, 1), (3, 1), (2, 2)])
        for _ in range(self.random.randrange(3)):
            self.scalars[self.name("n")] = np.int32(self.pick([0, 2, 3, 5, 16, 17, -7, 1 << 20]))
        if self.chance(0.2):
            self.scalars[self.name("n")] = np.int64(self.pick([1 << 40, -(1 << 35) - 3]))
        if self.chance(0.2):
            self.scalars[self.name("f")] = np.float32(self.pick([0.5, -3.0, 1.5]))
        with self.block() as body:
            for _ in range(self.random.randint(2, 5)):
                statements.statement(self, 2)
            statements.store_some(self)
        options = {
            "num_warps": self.pick([1, 2, 4, 4, 8]),
            "num_stages": self.pick([1, 2, 3, 4]),
            "num_ctas": self.pick([1, 1, 1, 2, 4]),
        }
        return tree.Kernel(
            f"kernel_{self.seed}", self.buffers, self.scalars, self.grid, options, self.level,
            tree.block(body), self.functions, self.constants,
        )  # fmt: skip


def kernel(seed: int, level: int | None = None) -> tree.Kernel:
    """The kernel of a seed: always the same one."""
    from random_kernels import (  # noqa: F401  the rules
        blocks,
        elementwise,
        libraries,
        memory,
        pointers,
        scalars,
        statements,
        structures,
    )  # fmt: skip

    return Grower(seed, level).kernel()


__all__ = ["CONDITION", "FP8", "INDEX", "Grower", "kernel", "rule"]
