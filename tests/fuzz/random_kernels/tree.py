"""A kernel as a tree: every node writes itself as Python and computes itself in NumPy.

Nodes are values: ``with_kids`` gives a changed copy, so that a failing kernel can be cut down. An
expression has a kind (dtype and shape), a text with {0}, {1}, ... for its operands, and a function
of the operands' arrays; those that look at the program get the State first.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from random_kernels.dtypes import BOOL, I32, DType

Array = Any


@dataclass(frozen=True)
class Kind:
    dtype: DType
    shape: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))


CONDITION, INDEX = Kind(BOOL), Kind(I32)


@dataclass
class Buffer:
    """A tensor argument. ``style`` says what it begins with (data.py)."""

    name: str
    dtype: DType
    count: int
    style: str
    seed: int


@dataclass
class State:
    """One program while NumPy runs it."""

    memory: dict[str, Array]
    scalars: dict[str, Array]
    functions: dict[str, Function]
    program: tuple[int, int]
    grid: tuple[int, int]
    variables: dict[str, Array] = field(default_factory=dict)


class Node:
    kids: tuple[Node, ...] = ()

    def with_kids(self, kids: tuple[Node, ...]) -> Any:
        node = copy.copy(self)
        node.kids = kids
        return node

    def walk(self, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Node]]:
        yield path, self
        for place, kid in enumerate(self.kids):
            yield from kid.walk((*path, place))

    def replaced(self, path: tuple[int, ...], node: Node) -> Any:
        if not path:
            return node
        kids = list(self.kids)
        kids[path[0]] = kids[path[0]].replaced(path[1:], node)
        return self.with_kids(tuple(kids))


# -- expressions ----------------------------------------------------------------------------------


class Expr(Node):
    is_effect = False  # whether computing it changes memory

    def __init__(
        self, kind: Kind, text: str, *kids: Expr, value: Callable[..., Array], state: bool = False
    ) -> None:
        self.kind, self.template, self.kids = kind, text, kids
        self.value, self.needs_state = value, state

    def text(self) -> str:
        return self.template.format(*(kid.text() for kid in self.kids))

    def compute(self, state: State) -> Array:
        values = [kid.compute(state) for kid in self.kids]
        result = np.asarray(self.value(*([state] if self.needs_state else []), *values))
        assert (result.dtype, result.shape) == (self.kind.dtype.numpy, self.kind.shape), (
            f"{self.template}: NumPy gives {result.dtype}{result.shape}, expected {self.kind}"
        )
        return result


class Var(Expr):
    def __init__(self, kind: Kind, name: str) -> None:
        super().__init__(kind, name, value=lambda state: state.variables[name], state=True)
        self.name = name


def scalar(kind: Kind, name: str) -> Expr:
    """An argument that is a number."""
    return Expr(kind, name, value=lambda state: state.scalars[name], state=True)


def constant(kind: Kind, number: Any) -> Expr:
    value = np.full(kind.shape, number).astype(kind.dtype.numpy)
    text = f"tl.full({list(kind.shape)}, {written(number)}, {kind.dtype})"
    return Expr(kind, text, value=lambda: value)


def written(number: Any) -> str:
    text = repr(number)
    return f'float("{text}")' if text in ("inf", "-inf", "nan") else text


class Call(Expr):
    """A call of a function of the kernel."""

    def __init__(self, function: Function, *kids: Expr) -> None:
        places = ", ".join(f"{{{place}}}" for place in range(len(kids)))
        super().__init__(
            function.result.kind, f"{function.name}({places})", *kids, value=self._run, state=True
        )
        self.name = function.name

    def _run(self, state: State, *arguments: Array) -> Array:
        function = state.functions[self.name]
        inner = copy.copy(state)
        inner.variables = dict(zip((var.name for var in function.parameters), arguments))
        function.body.run(inner)
        return function.result.compute(inner)


# -- statements -----------------------------------------------------------------------------------


class Left(Exception):
    """A program has returned."""


class Stmt(Node):
    @property
    def defines(self) -> set[str]:
        """The variables that have a value after it, whatever it does."""
        return set()

    def lines(self) -> list[str]:
        raise NotImplementedError

    def run(self, state: State) -> None:
        raise NotImplementedError


class Block(Stmt):
    def lines(self) -> list[str]:
        return [line for kid in self.kids for line in kid.lines()] or ["pass"]

    def run(self, state: State) -> None:
        for kid in self.kids:
            kid.run(state)


def block(statements: list[Stmt]) -> Block:
    return Block().with_kids(tuple(statements))


def indented(node: Stmt) -> list[str]:
    return ["    " + line for line in node.lines()]


class Assign(Stmt):
    """The dtype and shape are asserted where the kernel is compiled: Triton's rules, checked."""

    def __init__(self, var: Var, value: Expr) -> None:
        self.var, self.kids = var, (value,)

    @property
    def defines(self) -> set[str]:
        return {self.var.name}

    def lines(self) -> list[str]:
        (value,) = self.kids
        return [f"{self.var.name} = {value.text()}"]

    def run(self, state: State) -> None:
        (value,) = self.kids
        state.variables[self.var.name] = value.compute(state)


class Expect(Stmt):
    """A check of the type of a variable."""

    def __init__(self, var: Var) -> None:
        self.kids = (var,)

    def lines(self) -> list[str]:
        (var,) = self.kids
        return [f"tl.static_assert({var.text()}.dtype == {var.kind.dtype})"]

    def run(self, state: State) -> None:
        pass


class For(Stmt):
    """Kids: the first index, the bound, the body."""

    def __init__(self, var: Var, form: str, step: int, first: Expr, last: Expr, body: Block):
        self.var, self.form, self.step, self.kids = var, form, step, (first, last, body)

    def lines(self) -> list[str]:
        first, last, body = self.kids
        bounds = f"{first.text()}, {last.text()}, {self.step}"
        return [f"for {self.var.name} in {self.form.format(bounds)}:", *indented(body)]

    def run(self, state: State) -> None:
        first, last, body = self.kids
        for index in range(int(first.compute(state)), int(last.compute(state)), self.step):
            state.variables[self.var.name] = np.asarray(index, np.int32)
            body.run(state)


class While(Stmt):
    """Kids: a condition besides the counter, the body."""

    def __init__(self, counter: Var, limit: int, condition: Expr, body: Block) -> None:
        self.counter, self.limit, self.kids = counter, limit, (condition, body)

    def lines(self) -> list[str]:
        condition, body = self.kids
        name = self.counter.name
        test = f"({name} < {self.limit}) & {condition.text()}"
        return [
            f"{name} = 0", f"while {test}:", *indented(body),
            f"    {name} += 1",
        ]  # fmt: skip

    def run(self, state: State) -> None:
        condition, body = self.kids
        for count in range(self.limit):
            state.variables[self.counter.name] = np.asarray(count, np.int32)
            if not condition.compute(state):
                return
            body.run(state)
        state.variables[self.counter.name] = np.asarray(self.limit, np.int32)


class If(Stmt):
    """Kids: the condition, and both branches."""

    def __init__(self, condition: Expr, then: Block, other: Block) -> None:
        self.kids = (condition, then, other)

    def lines(self) -> list[str]:
        condition, then, other = self.kids
        lines = [f"if {condition.text()}:", *indented(then)]
        return [*lines, "else:", *indented(other)] if other.kids else lines

    def run(self, state: State) -> None:
        condition, then, other = self.kids
        (then if condition.compute(state) else other).run(state)


class Store(Stmt):
    """Kids: value, offsets and, where not all lanes are written, a mask."""

    def __init__(self, text: str, buffer: str, value: Expr, offsets: Expr, mask: Expr | None):
        self.text, self.buffer = text, buffer
        self.convert: Callable[[Array], Array] = lambda value: value
        self.kids = (value, offsets, mask) if mask else (value, offsets)

    def lines(self) -> list[str]:
        return [self.text.format(*(kid.text() for kid in self.kids))]

    def run(self, state: State) -> None:
        value, offsets, *mask = [kid.compute(state) for kid in self.kids]
        chosen = np.broadcast_to(mask[0] if mask else True, offsets.shape)
        value = np.broadcast_to(self.convert(value), offsets.shape)
        state.memory[self.buffer][offsets[chosen]] = value[chosen]


class Lines(Stmt):
    """Statements on variables that only the texts of one rule name."""

    def __init__(self, lines: list[str]) -> None:
        self.written = lines

    def lines(self) -> list[str]:
        return self.written

    def run(self, state: State) -> None:
        pass


class Check(Stmt):
    """A call with an operand, which changes nothing."""

    def __init__(self, text: str, value: Expr) -> None:
        self.text, self.kids = text, (value,)

    def lines(self) -> list[str]:
        return [self.text.format(self.kids[0].text())]

    def run(self, state: State) -> None:
        self.kids[0].compute(state)


class Atomic(Store):
    """The same with a function that combines what is there with each lane, in any order."""

    def __init__(self, combine: Callable[..., Array], *rest: Any) -> None:
        super().__init__(*rest)
        self.combine = combine

    def run(self, state: State) -> None:
        value, offsets, *mask = [kid.compute(state) for kid in self.kids]
        chosen = np.broadcast_to(mask[0] if mask else True, offsets.shape)
        memory = state.memory[self.buffer]
        for place, one in zip(offsets[chosen], np.broadcast_to(value, offsets.shape)[chosen]):
            memory[place] = self.combine(memory[place], one)


# -- the whole ------------------------------------------------------------------------------------


class Function(Stmt):
    """Kids: the body and the result."""

    def __init__(self, name: str, parameters: list[Var], body: Block, result: Expr) -> None:
        self.name, self.parameters, self.kids = name, parameters, (body, result)

    @property
    def body(self) -> Any:
        return self.kids[0]

    @property
    def result(self) -> Any:
        return self.kids[1]

    def lines(self) -> list[str]:
        names = ", ".join(var.name for var in self.parameters)
        body = indented(self.body) if self.body.kids else []
        return [
            "@triton.jit", f"def {self.name}({names}):", *body,
            f"    return {self.result.text()}", "", "",
        ]  # fmt: skip


class Kernel(Node):
    """Kids: the body, then the functions that it calls (each after those that it calls)."""

    def __init__(
        self, name: str, buffers: list[Buffer], scalars: dict[str, Any], grid: tuple[int, int],
        options: dict[str, int], level: int, body: Block, functions: list[Function],
        constants: dict[str, int],
    ) -> None:  # fmt: skip
        self.name, self.buffers, self.scalars, self.grid = name, buffers, scalars, grid
        self.constants = constants
        self.options, self.level, self.kids = options, level, (body, *functions)

    @property
    def body(self) -> Any:
        return self.kids[0]

    @property
    def functions(self) -> Any:
        return self.kids[1:]

    def source(self) -> str:
        """The functions and the kernel; ``triton`` and ``tl`` are names of the file around them."""
        used = self.used_names()
        lines = [line for kid in self.functions if kid.name in used for line in kid.lines()]
        names = ", ".join(
            [*(buffer.name for buffer in self.buffers), *self.scalars,
             *(f"{name}: tl.constexpr" for name in self.constants)]
        )  # fmt: skip
        body = indented(self.body)
        if any("pid" in line for line in body):
            body = ["    pid = tl.program_id(0) + tl.num_programs(0) * tl.program_id(1)", *body]
        return "\n".join([*lines, "@triton.jit", f"def {self.name}({names}):", *body, ""])

    def used_names(self) -> set[str]:
        """The functions that are called, from called functions too."""
        functions = {kid.name: kid for kid in self.functions}
        used: set[str] = set()
        nodes: list[Node] = [self.body]
        while nodes:
            for _, node in nodes.pop().walk():
                if isinstance(node, Call) and node.name not in used:
                    used.add(node.name)
                    nodes.append(functions[node.name])
        return used

    def run(self, memory: dict[str, Array]) -> None:
        """All programs in turn, in NumPy; changes the arrays."""
        functions = {kid.name: kid for kid in self.functions}
        scalars = {name: np.asarray(value) for name, value in self.scalars.items()}
        with np.errstate(all="ignore"):
            for y in range(self.grid[1]):
                for x in range(self.grid[0]):
                    with suppress(Left):
                        self.body.run(State(memory, scalars, functions, (x, y), self.grid))
