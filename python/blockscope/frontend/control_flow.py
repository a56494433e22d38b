"""Control flow of a kernel: if, for, while and early return as structured ops of the IR.

What a loop carries is read off the syntax: the names that its body assigns and that exist before
it. A run-time 'if' that returns takes the statements after it into its arms, so that every path of
a function ends once.
"""

import ast
import builtins
from collections.abc import Iterator
from typing import Any

from blockscope import language as tl
from blockscope.frontend import values
from blockscope.frontend.diagnose import compile_error, unsupported
from blockscope.frontend.source import assigned_names, contains, lines_that_assign
from blockscope.language import core, iterators
from blockscope.language.aggregate import aggregate_value


class ControlFlow:
    """The part of the generator that visits statements with bodies."""

    # Provided by the generator.
    builder: Any
    frame: Any
    visit: Any
    at: Any
    assign: Any
    unrolled_depth: int

    def visit_to_end(self, statements: list[ast.stmt]) -> None:
        """Walk statements up to the end of the function; sets ``frame.returned``."""
        for index, statement in enumerate(statements):
            if isinstance(statement, ast.Return):
                value = self.visit(statement.value) if statement.value else None
                self.frame.returned = None if values.unwrap(value) is None else value
                self.frame.return_at = statement
                return
            if isinstance(statement, ast.If) and contains([statement], ast.Return):
                self.visit_returning_if(statement, statements[index + 1 :])
                return
            self.visit(statement)
        self.frame.returned = None

    def visit_body(self, statements: list[ast.stmt]) -> None:
        """Walk the statements of a loop or of an 'if' that does not return."""
        for statement in statements:
            self.visit(statement)

    def visit_Return(self, node: ast.Return) -> None:
        raise unsupported(self, node, "'return' inside a loop", "keep a flag and return after it")

    # -- if -------------------------------------------------------------------------------------

    def condition(self, node: ast.expr) -> Any:
        """Evaluate a condition: a bool when it is static, else a scalar of int1."""
        return self.truth(node, self.visit(node))

    def truth(self, node: ast.expr, value: Any) -> Any:
        if not values.is_tensor(value):
            plain = values.unwrap(value)
            if isinstance(
                plain, bool | int | float | str | type(None) | builtins.tuple | core.tuple
            ):
                return bool(plain)
            raise compile_error(
                self,
                node,
                f"a condition must be a scalar tensor or a bool, found {type(plain).__name__}",
            )
        with self.at(node):
            if value.type.is_block() and value.numel.value != 1:
                raise ValueError(
                    f"a condition must be a scalar, found a block of shape {shape_text(value)}; "
                    "use tl.where, or reduce it with tl.max"
                )
            if value.type.is_block():
                value = tl.reshape(value, ())
            return value.to(tl.int1) if value.dtype != tl.int1 else value

    def visit_If(self, node: ast.If) -> None:
        condition = self.condition(node.test)
        if isinstance(condition, bool):
            self.visit_body(node.body if condition else node.orelse)
            return
        frame = self.frame
        before = dict(frame.values)
        then_values, then_block = self.arm(before, lambda: self.visit_body(node.body))
        else_values, else_block = self.arm(before, lambda: self.visit_body(node.orelse))
        with self.at(node):
            self.merge(node, condition, before, then_values, then_block, else_values, else_block)

    def arm(self, before: dict[str, Any], walk: Any) -> tuple[dict[str, Any], Any]:
        """Walk one side of an 'if' in a block of its own; returns its names and the block."""
        self.builder.push_block([])
        self.frame.values = dict(before)
        walk()
        after = self.frame.values
        block = self.builder.pop_block()
        self.frame.values = before
        return after, block

    def merge(
        self,
        node: ast.If,
        condition: Any,
        before: dict[str, Any],
        then_values: dict[str, Any],
        then_block: Any,
        else_values: dict[str, Any],
        else_block: Any,
    ) -> None:
        merged: list[str] = []
        result = dict(before)
        for name in sorted(then_values.keys() | else_values.keys()):
            if name not in then_values or name not in else_values:
                where = "the 'if'" if name in then_values else "the 'else'"
                self.frame.lost[name] = f"'{name}' is defined only in {where} of line {node.lineno}"
                result.pop(name, None)
                continue
            ours, theirs = then_values[name], else_values[name]
            if ours is theirs:
                result[name] = ours
                continue
            if values.structure(ours) != values.structure(theirs):
                raise TypeError(
                    f"Mismatched type for {name}: {type_text(ours)} after the 'if' but "
                    f"{type_text(theirs)} {'after the else' if node.orelse else 'without it'}"
                )
            merged.append(name)
        then_yields = [t for name in merged for t in values.flatten(then_values[name])]
        else_yields = [t for name in merged for t in values.flatten(else_values[name])]
        results = iter(
            self.builder.create_if(condition, then_block, then_yields, else_block, else_yields)
        )
        for name in merged:
            result[name] = self.renamed(name, values.rebuild(then_values[name], results))
        self.frame.values = result

    def renamed(self, name: str, value: Any) -> Any:
        if values.is_tensor(value):
            self.builder.name_value(value, name)
        return value

    def visit_returning_if(self, node: ast.If, rest: list[ast.stmt]) -> None:
        condition = self.condition(node.test)
        if isinstance(condition, bool):
            self.visit_to_end((node.body if condition else node.orelse) + rest)
            return
        frame = self.frame
        before = dict(frame.values)
        returned: list[Any] = []

        def walk(statements: list[ast.stmt]) -> None:
            self.visit_to_end(statements)
            returned.append(values.decay(frame.returned) if frame.returned is not None else None)

        _, then_block = self.arm_with(before, walk, node.body + rest)
        _, else_block = self.arm_with(before, walk, node.orelse + rest)
        ours, theirs = returned
        with self.at(node):
            if values.structure(ours) != values.structure(theirs):
                raise TypeError(
                    f"Return type mismatch: {type_text(ours)} on one path and {type_text(theirs)} "
                    "on another"
                )
            results = iter(
                self.builder.create_if(
                    condition,
                    then_block,
                    list(values.flatten(ours)),
                    else_block,
                    list(values.flatten(theirs)),
                )
            )
            frame.returned = values.rebuild(ours, results) if ours is not None else None

    def arm_with(self, before: dict[str, Any], walk: Any, statements: list[ast.stmt]) -> Any:
        # The decayed return value must be made inside the block, hence `walk` does it there.
        return self.arm(before, lambda: walk(statements))

    def conditional_value(self, node: ast.IfExp) -> Any:
        """`a if c else b`: one side when static, else both sides in blocks of their own."""
        condition = self.condition(node.test)
        if isinstance(condition, bool):
            return self.visit(node.body if condition else node.orelse)
        sides: list[Any] = []

        def walk(side: ast.expr) -> None:
            sides.append(values.decay(self.visit(side)))

        before = dict(self.frame.values)
        _, then_block = self.arm(before, lambda: walk(node.body))
        _, else_block = self.arm(before, lambda: walk(node.orelse))
        with self.at(node):
            if values.structure(sides[0]) != values.structure(sides[1]):
                raise TypeError(
                    "Ternary expression with dynamic condition has inconsistent types "
                    f"{type_text(sides[0])} and {type_text(sides[1])}"
                )
            results = self.builder.create_if(
                condition,
                then_block,
                list(values.flatten(sides[0])),
                else_block,
                list(values.flatten(sides[1])),
            )
            return values.rebuild(sides[0], iter(results))

    # -- loops ----------------------------------------------------------------------------------

    def carried(self, node: ast.For | ast.While, counts: bool = False) -> dict[str, Any]:
        """The names that the loop may change, with their values before it, as tensors.

        What has no tensors (a function, an aggregate of constants) is among them, to stay as it is.
        ``counts`` says whether the name that a 'for' counts with is one of them.
        """
        names = assigned_names([node] if counts else node.body) & self.frame.values.keys()
        return {name: values.decay(self.frame.values[name]) for name in sorted(names)}

    def enter_loop(self, carried: dict[str, Any], arguments: Iterator[Any]) -> None:
        for name, value in carried.items():
            self.frame.values[name] = self.renamed(name, values.rebuild(value, arguments))

    def leave_loop(
        self, node: ast.For | ast.While, carried: dict[str, Any], before: dict[str, Any]
    ) -> list[Any]:
        """Check that carried names kept their types; returns what the body yields."""
        yields: list[Any] = []
        for name, value in carried.items():
            after = self.frame.values.get(name)
            if after is None and name in self.frame.lost:
                raise compile_error(self, node, self.frame.lost[name])
            after = values.decay(after)
            if values.structure(after) != values.structure(value):
                lines = lines_that_assign(node.body, name)
                by = f" (line {lines.pop()})" if len(lines) == 1 else ""
                raise compile_error(
                    self,
                    node,
                    f"'{name}' has type {type_text(value)} before the loop but {type_text(after)} "
                    f"after its body{by}; a loop-carried variable keeps its type",
                )
            yields.extend(values.flatten(after))
        for name in self.frame.values.keys() - before.keys():
            self.frame.lost[name] = (
                f"'{name}' is defined only inside the loop of line {node.lineno}"
            )
        return yields

    def visit_For(self, node: ast.For) -> None:
        if node.orelse:
            raise unsupported(self, node, "'else' of a loop")
        loop = self.loop_range(node)
        if isinstance(loop, tl.static_range):
            for index in self.unrolled(loop):
                self.assign(node.target, core.constexpr(index))
                self.visit_body(node.body)
            return
        with self.at(node):
            start, end, step, down = self.bounds(node, loop)
            first = self.index_before(node, start, step, down)
        frame = self.frame
        if first is not None:
            self.assign(node.target, first)
        before = dict(frame.values)
        carried = self.carried(node, counts=first is not None)
        initial = [t for value in carried.values() for t in values.flatten(value)]
        arguments = iter(self.builder.push_block([start.type, *(t.type for t in initial)]))
        index = next(arguments)
        self.enter_loop(carried, arguments)
        with self.at(node):
            # A negative step counts down from `start` while the op counts up from 0.
            self.assign(node.target, down - index if down is not None else index)
        frame.loop_depth += 1
        self.visit_body(node.body)
        frame.loop_depth -= 1
        yields = self.leave_loop(node, carried, before)
        block = self.builder.pop_block()
        with self.at(node):
            made = self.builder.create_for(start, end, step, initial, block, yields, *loop.hints())
            results = iter(made)
        frame.values = before
        self.enter_loop(carried, results)
        if first is None and self.is_read_later(node):
            assert isinstance(node.target, ast.Name)
            name = node.target.id
            before_text = type_text(frame.values.pop(name))
            frame.lost[name] = (
                f"'{name}' has type {before_text} before the loop of line {node.lineno}, which "
                "counts with it, and may have either type after it"
            )

    def is_read_later(self, node: ast.For) -> bool:
        """Whether the variable of the loop may be read after it."""
        return (node.lineno, node.col_offset) in self.frame.source.loops_read_later

    def unrolled(self, loop: tl.static_range) -> Iterator[int]:
        """The numbers of an unrolled loop, whose iterations the builder is told."""
        depth = self.unrolled_depth
        self.unrolled_depth += 1
        try:
            yield from iterators.unrolled(loop.indices(), depth, self.builder.set_unrolled)
        finally:
            self.unrolled_depth = depth

    def index_before(self, node: ast.For, start: Any, step: Any, down: Any) -> Any:
        """What the loop's variable is before the loop, as the loop carries it; else None.

        It is carried as any other name where it may be read later. After a loop without an
        iteration it is what it was before, or, where it did not exist (an error in Python), the
        start less one step.
        """
        if not self.is_read_later(node):
            return None
        assert isinstance(node.target, ast.Name)
        name = node.target.id
        if name not in self.frame.values:
            return start - step if down is None else down + step
        before = values.decay(self.frame.values[name])
        if values.is_tensor(before) and before.dtype.is_int() and not before.type.is_block():
            return tl.cast(before, start.dtype)
        return None

    def loop_range(self, node: ast.For) -> Any:
        if not isinstance(node.iter, ast.Call):
            raise unsupported(self, node.iter, _loop_over(node), "use range(...)")
        loop = self.visit(node.iter)
        if not isinstance(loop, tl.range | tl.static_range):
            raise unsupported(
                self, node.iter, _loop_over(node), "use range(...) or tl.static_range"
            )
        return loop

    def bounds(self, node: ast.For, loop: Any) -> tuple[Any, Any, Any, Any]:
        """Return start, end and step of one integer type; for a negative step where it starts."""
        parts = [values.unwrap(v) for v in (loop.start, loop.end, loop.step)]
        for part, what in zip(parts, ("start", "end", "step"), strict=True):
            is_int = part.dtype.is_int() if values.is_tensor(part) else isinstance(part, int)
            if not is_int or (values.is_tensor(part) and part.type.is_block()):
                raise TypeError(
                    f"range: '{what}' must be an integer scalar, found {type_text(part)}"
                )
        if not values.is_tensor(parts[2]) and parts[2] == 0:
            raise ValueError("range: 'step' must not be zero")
        wide = iterators.index_type(parts)
        down = None
        start, end, step = (tl.cast(core.to_tensor(part), wide) for part in parts)
        if not values.is_tensor(parts[2]) and parts[2] < 0:
            down, zero = start, tl.cast(core.to_tensor(0), wide)
            start, end, step = zero, start - end, zero - step
        return start, end, step, down

    def repeat(self, initial: list[Any], step: Any) -> list[Any]:
        """A loop of the language; see context.Kernel."""
        types = [value.type for value in initial]
        after, again = step(self.builder.push_block(types))
        test_block = self.builder.pop_block()
        carried = self.builder.push_block(types)
        body = self.builder.pop_block()
        return builtins.list(
            self.builder.create_while(initial, test_block, again, after, body, carried)
        )

    def visit_While(self, node: ast.While) -> None:
        if node.orelse:
            raise unsupported(self, node, "'else' of a loop")
        frame = self.frame
        before = dict(frame.values)
        carried = self.carried(node)
        initial = [t for value in carried.values() for t in values.flatten(value)]
        types = [t.type for t in initial]
        first = self.builder.push_block(types)
        self.enter_loop(carried, iter(first))
        test, disable_licm = self.visit(node.test), False
        if isinstance(test, tl.condition):
            test, disable_licm = test.condition, test.disable_licm
        condition = self.truth(node.test, test)
        if isinstance(condition, bool):
            if not condition:
                self.builder.pop_block()
                frame.values = before
                return
            condition = core.to_tensor(True)
        test_block = self.builder.pop_block()
        self.enter_loop(carried, iter(self.builder.push_block(types)))
        frame.loop_depth += 1
        self.visit_body(node.body)
        frame.loop_depth -= 1
        yields = self.leave_loop(node, carried, before)
        body = self.builder.pop_block()
        with self.at(node):
            results = iter(
                self.builder.create_while(
                    initial, test_block, condition, first, body, yields, disable_licm
                )
            )
        frame.values = before
        self.enter_loop(carried, results)


def _loop_over(node: ast.For) -> str:
    return f"a loop over '{ast.unparse(node.iter)}'"


def type_text(value: Any) -> str:
    """The type of a value as messages say it."""
    if isinstance(value, aggregate_value):
        return str(value.type)
    if isinstance(value, core.tuple):
        return "(" + ", ".join(type_text(item) for item in value) + ")"
    if values.is_tensor(value) and value.type.is_block():
        return f"{value.type.element_ty}{shape_text(value)}"
    if values.is_tensor(value):
        return str(value.type)
    return repr(values.unwrap(value))


def shape_text(value: Any) -> str:
    return str([values.unwrap(size) for size in value.shape])
