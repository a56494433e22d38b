"""Loops over tiles, as matmuls and sums are written: pointers, masks, block pointers and
descriptors that move, dots of all dtypes. What a GPU pipelines."""

from __future__ import annotations

from typing import Any

import numpy as np

from random_kernels import memory, tree
from random_kernels.dtypes import BF16, DTYPES, F16, F32, F64, FP8, I32, I64, DType
from random_kernels.grow import Grower
from random_kernels.tree import Expr, Kind, Var

_OPERANDS = {
    F32: [F16, F16, BF16, F32, *FP8], I32: [DTYPES["int8"]], F64: [F64], F16: [F16],
}  # fmt: skip
MOST = 3  # iterations


class Tile:
    """A matrix that is loaded in each iteration: ``inner`` says which axis moves."""

    def __init__(self, grow: Grower, dtype: DType, shape: tuple[int, int], inner: int) -> None:
        self.kind, self.inner = Kind(dtype, shape), inner
        # A matrix that holds all iterations, and a little more or less than them.
        self.sizes = [shape[0], shape[1]]
        self.sizes[inner] = shape[inner] * MOST
        self.cut = list(self.sizes)
        self.is_masked = grow.chance(0.4)
        if self.is_masked:
            axis = grow.random.randrange(2)
            self.cut[axis] = max(1, self.cut[axis] - grow.pick([0, 1, 5, 8]))
        self.row_major = grow.chance(0.7)
        each = 16 // dtype.itemsize
        pitch = -(-self.sizes[1 if self.row_major else 0] // each) * each
        pitch += grow.pick([0, 0, each, 1])
        self.strides = (pitch, 1) if self.row_major else (1, pitch)
        count = pitch * self.sizes[0 if self.row_major else 1]
        self.buffer = grow.buffer(dtype, "y", count, "small")
        forms = ["offsets", "offsets", "moving", "block pointer", "table"]
        if self.row_major and pitch % each == 0 and shape[1] >= each:
            forms += ["descriptor"] * 2
        self.form = grow.pick(forms)
        self.name = grow.name("t")
        self.table = grow.buffer(grow.pick([I32, I64]), "y", 4, "places")  # of the form "table"

    def before(self) -> list[str]:
        """Lines before the loop."""
        name, shape = self.buffer.name, list(self.kind.shape)
        if self.form == "moving":
            text, _ = memory.written_offsets(self.kind.shape, self.strides)
            return [f"{self.name} = {name} + ({text})"]
        if self.form == "descriptor":
            return [f"{self.name} = tl.make_tensor_descriptor({name}, {self.cut}, "
                    f"{list(self.strides)}, {shape})"]  # fmt: skip
        if self.form == "block pointer":
            order = [1, 0] if self.row_major else [0, 1]
            return [f"{self.name} = tl.make_block_ptr({name}, {self.cut}, {list(self.strides)}, "
                    f"[0, 0], {shape}, {order})"]  # fmt: skip
        return []

    def _mask(self, index: str) -> str:
        if not self.is_masked:
            return ""
        parts = []
        for axis in range(2):
            line = f"tl.arange(0, {self.kind.shape[axis]})" + ("[:, None]", "[None, :]")[axis]
            if axis == self.inner:
                line = f"({index} * {self.kind.shape[axis]} + {line})"
            parts.append(f"({line} < {self.cut[axis]})")
        return f", mask={' & '.join(parts)}, other=0"

    def load(self, index: str) -> str:
        size = self.kind.shape[self.inner]
        if self.form == "descriptor":
            places = ["0", "0"]
            places[self.inner] = f"{index} * {size}"
            return f"{self.name}.load([{', '.join(places)}])"
        if self.form == "block pointer":
            return f'tl.load({self.name}, boundary_check=[0, 1], padding_option="zero")'
        if self.form == "moving":
            return f"tl.load({self.name}{self._mask(index)})"
        text, _ = memory.written_offsets(self.kind.shape, self.strides)
        step = self.strides[self.inner] * size
        if self.form == "table":
            index = f"tl.load({self.table.name} + {index})"
        return f"tl.load({self.buffer.name} + ({index} * {step} + {text}){self._mask(index)})"

    def after(self) -> list[str]:
        """Lines at the end of an iteration."""
        size = self.kind.shape[self.inner]
        if self.form == "moving":
            return [f"{self.name} += {self.strides[self.inner] * size}"]
        if self.form == "block pointer":
            moves = [0, 0]
            moves[self.inner] = size
            return [f"{self.name} = tl.advance({self.name}, {moves})"]
        return []

    def value(self, state: tree.State, index: int) -> Any:
        """What iteration ``index`` loads."""
        if self.form == "table":
            index = int(state.memory[self.table.name][index])
        rows, columns = (
            np.arange(size) + (index * size if axis == self.inner else 0)
            for axis, size in enumerate(self.kind.shape)
        )
        inside = (rows < self.cut[0])[:, None] & (columns < self.cut[1])[None, :]
        if self.form in ("offsets", "moving", "table") and not self.is_masked:
            inside[...] = True
        places = rows[:, None] * self.strides[0] + columns[None, :] * self.strides[1]
        found = state.memory[self.buffer.name][np.where(inside, places, 0)]
        return np.where(inside, found, np.zeros((), found.dtype))


class Tiles(tree.Stmt):
    """``sum = dot of all tiles``; kids: the number of iterations."""

    def __init__(self, grow: Grower, result: Var, last: Expr) -> None:
        self.result, self.kids = result, (last,)
        rows, columns = result.kind.shape
        dtype = grow.pick(_OPERANDS[result.kind.dtype])
        inner = grow.pick([16, 32, 32, 64])
        other = grow.pick(FP8) if dtype.family == "8" else dtype
        self.a = Tile(grow, dtype, (rows, inner), 1)
        self.b = Tile(grow, other, (inner, columns), 0)
        self.form = grow.pick(["range({})", "range({})", "tl.range({}, num_stages=4)",
                               "tl.range({}, num_stages=2)"])  # fmt: skip
        self.index, self.names = grow.name("i"), [grow.name("l"), grow.name("l")]
        self.prologue = grow.pick(["", "", "", " * 2", " - 1"])
        if dtype.family == "8":
            self.prologue = ""
        self.more = ", out_dtype=tl.float16" if result.kind.dtype == F16 else ""
        if dtype == F32:
            self.more = grow.pick(["", ', input_precision="tf32"', ', input_precision="ieee"'])
        self.adds_outside = grow.chance(0.3)

    @property
    def defines(self) -> set[str]:
        return {self.result.name}

    def lines(self) -> list[str]:
        (last,) = self.kids
        name, kind = self.result.name, self.result.kind
        a, b = self.names
        dot = f"tl.dot({a}{self.prologue}, {b}, {name}{self.more})"
        if self.adds_outside:
            dot = f"{name} + tl.dot({a}{self.prologue}, {b}{self.more})"
        inside = [
            f"{a} = {self.a.load(self.index)}", f"{b} = {self.b.load(self.index)}",
            f"{name} = {dot}", *self.a.after(), *self.b.after(),
        ]  # fmt: skip
        return [
            f"{name} = tl.zeros({list(kind.shape)}, {kind.dtype})", *self.a.before(),
            *self.b.before(), f"for {self.index} in {self.form.format(last.text())}:",
            *("    " + line for line in inside),
        ]  # fmt: skip

    def run(self, state: tree.State) -> None:
        (last,) = self.kids
        total = np.zeros(self.result.kind.shape)
        for index in range(int(last.compute(state))):
            a = self.a.value(state, index).astype(np.float64)
            a = {"": a, " * 2": a * 2, " - 1": a - 1}[self.prologue]
            total += a @ self.b.value(state, index).astype(np.float64)
        state.variables[self.result.name] = total.astype(self.result.kind.dtype.numpy)


def tiles(grow: Grower, nesting: int) -> None:
    """A loop of dots, whose sum is a new variable."""
    if grow.is_function or len(grow.loops) > 1:
        return
    dtype = grow.pick([F32, F32, F32, F32, I32, F64, F16])
    small = grow.chance(0.5) or dtype == F64
    shape = tuple(grow.pick([16, 32] if small else [16, 64, 64, 128]) for _ in range(2))
    var = Var(Kind(dtype, shape), grow.name("v"))
    last = Expr(Kind(I32), str(grow.random.randint(1, MOST)), value=lambda: None)
    number = np.int32(int(last.template))
    last.value = lambda: number
    if grow.chance(0.6):  # not known at compile time
        inner = grow.expr(Kind(I32), 1)
        last = Expr(Kind(I32), "({0} & 3)", inner, value=lambda n: n & np.int32(3))
    grow.statements.append(Tiles(grow, var, last))
    if grow.chance(0.4):
        axis = grow.random.randrange(2)
        less = Kind(F32 if dtype == F16 else dtype, (shape[1 - axis],))
        value = Expr(
            less, f"tl.max({{0}}, {axis})", var,
            value=lambda x: x.max(axis).astype(less.dtype.numpy),
        )  # fmt: skip
        grow.scope.append(grow.var(less, value))
    grow.scope.append(var)
