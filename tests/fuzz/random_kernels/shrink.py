"""Cuts a failing kernel down: drops statements, takes the place of an expression by an operand or a
number, unwraps loops and branches, as long as the same problem stays."""

from __future__ import annotations

import copy
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

from random_kernels import tree
from random_kernels.tree import Assign, Block, Expr, For, If, Kernel, Kind, Node, Stmt, Var, While

Fails = Callable[[Kernel], bool]


def shrunk(kernel: Kernel, fails: Fails, seconds: float = 60.0) -> Kernel:
    """The smallest kernel found that still fails."""
    end = time.monotonic() + seconds
    is_smaller = True
    while is_smaller and time.monotonic() < end:
        is_smaller = False
        for make in (_without_statements, _simpler_kernels, _unwrapped, _simpler_expressions):
            changed = True
            while changed and time.monotonic() < end:
                changed = False
                for candidate in make(kernel):
                    if time.monotonic() > end:
                        break
                    if _is_whole(candidate) and fails(candidate):
                        kernel, changed, is_smaller = candidate, True, True
                        break
    return _without_unused(kernel)


def _size(node: Node) -> int:
    return sum(1 for _ in node.walk())


def _is_whole(kernel: Kernel) -> bool:
    """Whether every variable has a value where it is used."""
    return _defined(kernel.body, set()) and all(
        _defined(each.body, {var.name for var in each.parameters}, each.result)
        for each in kernel.functions
    )


def _uses(node: Node) -> set[str]:
    return {n.name for _, n in node.walk() if isinstance(n, Var)}


def _defined(body: Node, names: set[str], result: Node | None = None) -> bool:
    names = set(names)

    def visit(node: Node, known: set[str]) -> bool:
        if isinstance(node, Block):
            return all(visit(kid, known) for kid in node.kids)
        inner = set(known)
        if isinstance(node, For):
            first, last, body = node.kids
            return (_uses(first) | _uses(last)) <= known and visit(body, inner | {node.var.name})
        if isinstance(node, While):
            condition, body = node.kids
            inner |= {node.counter.name}
            return _uses(condition) <= inner and visit(body, inner)
        if isinstance(node, If):
            condition, then, other = node.kids
            return (
                _uses(condition) <= known and visit(then, set(known)) and visit(other, set(known))
            )
        if not all(_uses(kid) <= known for kid in node.kids):
            return False
        if isinstance(node, Stmt):
            known |= node.defines
        return True

    return visit(body, names) and (result is None or _uses(result) <= names)


# -- candidates, the largest cuts first -----------------------------------------------------------


def _blocks(kernel: Kernel) -> Iterator[tuple[tuple[int, ...], Block]]:
    for path, node in kernel.walk():
        if isinstance(node, Block):
            yield path, node


def _without_statements(kernel: Kernel) -> Iterator[Kernel]:
    for path, node in _blocks(kernel):
        count = len(node.kids)
        width = count
        while width:
            for start in range(0, count, width):
                kept = node.kids[:start] + node.kids[start + width :]
                yield kernel.replaced(path, node.with_kids(kept))
            width //= 2


def _unwrapped(kernel: Kernel) -> Iterator[Kernel]:
    """A branch or a loop gives way to what is in it."""
    for path, node in _blocks(kernel):
        for place, kid in enumerate(node.kids):
            bodies: list[tuple[Any, ...]] = []
            if isinstance(kid, If):
                bodies = [kid.kids[1].kids, kid.kids[2].kids]
            elif isinstance(kid, For | While):
                var = kid.var if isinstance(kid, For) else kid.counter
                first = Assign(var, tree.constant(var.kind, 0))
                bodies = [(first, *kid.kids[-1].kids)]
            for body in bodies:
                kids = node.kids[:place] + body + node.kids[place + 1 :]
                yield kernel.replaced(path, node.with_kids(kids))


def _simpler_kernels(kernel: Kernel) -> Iterator[Kernel]:
    if kernel.grid != (1, 1):
        changed = copy.copy(kernel)
        changed.grid = (1, 1)
        yield changed
    for name, value in kernel.options.items():
        for small in (1, 2):
            if value > small:
                changed = copy.copy(kernel)
                changed.options = {**kernel.options, name: small}
                yield changed


def _simpler_expressions(kernel: Kernel) -> Iterator[Kernel]:
    """An operand of the same kind, or a number, in the place of an expression."""
    for path, node in kernel.walk():
        if not isinstance(node, Expr) or not node.kids or _is_result(kernel, path):
            continue
        inner = [kid for _, kid in node.walk() if kid is not node and isinstance(kid, Expr)]
        for kid in sorted((k for k in inner if k.kind == node.kind), key=_size):
            yield kernel.replaced(path, kid)
        yield kernel.replaced(path, _number(node.kind))
    for path, node in kernel.walk():  # variables too, where their statements can go then
        if isinstance(node, Var) and len(path) > 1 and not _is_result(kernel, path):
            yield kernel.replaced(path, _number(node.kind))


def _is_result(kernel: Kernel, path: tuple[int, ...]) -> bool:
    """Offsets of stores stay: they are what keeps programs apart."""
    parent: Node = kernel
    for place in path[:-1]:
        parent = parent.kids[place]
    return isinstance(parent, tree.Store) and path[-1] == 1 or isinstance(parent, tree.Expect)


def _number(kind: Kind) -> Expr:
    return tree.constant(kind, True if kind.dtype.family == "b" else 1)


def _without_unused(kernel: Kernel) -> Kernel:
    """Without arguments and functions that nothing names."""
    text = "\n".join(kernel.source().splitlines())
    body = text[text.index(f"def {kernel.name}(") :].split("\n", 1)[1]
    words = set(re.findall(r"\w+", body))
    changed = copy.copy(kernel)
    changed.buffers = [buffer for buffer in kernel.buffers if buffer.name in words]
    changed.scalars = {name: v for name, v in kernel.scalars.items() if name in words}
    changed.constants = {name: v for name, v in kernel.constants.items() if name in words}
    return changed
