"""Walks a kernel's syntax tree and calls the language, which puts ops into the block IR.

Nested ``@jit`` functions are inlined where they are called, so their constexpr arguments, tuples
and recursion need no rules of their own. Statements with control flow are in control_flow.py.
"""

import ast
import builtins
import contextlib
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from blockscope import language as tl
from blockscope.frontend import calls, globals_rule, tracebacks, values
from blockscope.frontend.control_flow import ControlFlow, type_text
from blockscope.frontend.diagnose import compile_error, unsupported
from blockscope.frontend.nested_function import NestedFunction, default_nodes
from blockscope.frontend.source import FunctionSource, contains
from blockscope.frontend.used_values import UsedValues
from blockscope.language import core
from blockscope.language.aggregate import aggregate_value

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.MatMult: operator.matmul,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


class Frame:
    """One function being walked: its source, its local names, its return value."""

    def __init__(
        self,
        fn: Any,
        local_values: dict[str, Any],
        called_from: tuple[str, int] | None = None,
    ) -> None:
        self.fn = fn  # the JITFunction
        self.called_from = called_from
        self.line = 0  # of the node being walked
        self.source: FunctionSource = fn.function_source
        self.values = local_values
        self.declared: set[str] = set()  # names that stay constexpr: 'x: tl.constexpr'
        self.lost: dict[str, str] = {}  # name -> why it is not available any more
        self.loop_depth = 0
        self.returned: Any = None
        self.return_at: ast.Return | None = None  # the last 'return' that was walked


class Generator(ControlFlow):
    """Puts one kernel, with everything that it calls, into an IrBuilder."""

    def __init__(self, builder: Any) -> None:
        self.builder = builder
        self.frames: list[Frame] = []
        self.dropped: ast.expr | None = None  # the expression whose result nobody takes
        self.used = UsedValues()
        self.unrolled_depth = 0  # of the unrolled loops around

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    def run_kernel(self, fn: Any, arguments: dict[str, Any]) -> None:
        """Walk the kernel ``fn`` with its parameters bound to ``arguments``."""
        self.used.note_source(fn)
        self.frames.append(Frame(fn, dict(arguments)))
        tree = fn.function_source.tree
        try:
            for param in fn.params:
                if param.is_constexpr and param.do_not_specialize:
                    text = f"{param.name} marked as constexpr and listed in do_not_specialize"
                    raise compile_error(self, tree, text)
            self.visit_to_end(tree.body)
            if self.frame.returned is not None:
                at = self.frame.return_at or tree
                raise compile_error(self, at, "a kernel returns no value: store the result")
        finally:
            self.frames.pop()

    def inline(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Walk a called ``@jit`` function here and return what it returns."""
        bound = {**fn.surrounding(), **fn.bind_in_kernel(args, kwargs)}
        self.used.note_source(fn)
        if fn.noinline:
            self.builder.note_inlined_call(fn.__name__)
        self.builder.push_call()
        self.frames.append(Frame(fn, bound, (self.frame.source.file, self.frame.line)))
        try:
            self.visit_to_end(fn.statements)
            return self.frame.returned
        finally:
            self.frames.pop()
            self.builder.pop_call()

    def place(self) -> tuple[str, int, str]:
        """The file, the line and the module of what is walked now."""
        frame = self.frame
        return frame.source.file, frame.line, frame.fn.module

    # -- dispatch -------------------------------------------------------------------------------

    def visit(self, node: ast.AST) -> Any:
        """Walk one node. Errors of the language get the node's place in the user's file."""
        method = getattr(self, "visit_" + type(node).__name__, None)
        if method is None:
            raise unsupported(self, node)
        with self.at(node):
            return method(node)

    @contextlib.contextmanager
    def at(self, node: ast.AST) -> Any:
        frame = self.frame
        line = getattr(node, "lineno", 0)
        if line:
            frame.line = line
            self.builder.set_location(
                frame.source.file,
                line,
                getattr(node, "col_offset", 0) + 1,
                frame.fn.__name__,
            )
        try:
            yield
        except Exception as error:
            if getattr(error, "has_place", False) or tracebacks.is_from_signal(error):
                raise
            placed = compile_error(self, node, error)
            raise placed from placed.__cause__

    # -- values ---------------------------------------------------------------------------------

    def visit_Constant(self, node: ast.Constant) -> Any:
        return core.constexpr(node.value)

    def visit_Name(self, node: ast.Name) -> Any:
        frame = self.frame
        if node.id in frame.values:
            return frame.values[node.id]
        if node.id in frame.lost:
            raise NameError(frame.lost[node.id])
        return globals_rule.look_up(frame.fn, node.id, self.used)

    def visit_Tuple(self, node: ast.Tuple) -> Any:
        return core.tuple(self.elements(node.elts))

    visit_List = visit_Tuple

    def elements(self, nodes: list[ast.expr]) -> list[Any]:
        items: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                items.extend(self.visit(node.value))
            else:
                items.append(self.visit(node))
        return items

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        lhs, rhs = self.visit(node.left), self.visit(node.right)
        return self.binary(node, type(node.op), lhs, rhs)

    def binary(self, node: ast.AST, kind: type[ast.operator], lhs: Any, rhs: Any) -> Any:
        with self.at(node):
            for side in (lhs, rhs):
                if values.unwrap(side) is None:
                    raise TypeError(
                        f"one side of this {kind.__name__.lower()} is None, expected a tensor or a "
                        "number (was None passed for a tensor argument?)"
                    )
            return _BINARY[kind](lhs, rhs)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        value = self.visit(node.operand)
        with self.at(node):
            if isinstance(node.op, ast.Not):
                return values.logical_not(value)
            if isinstance(node.op, ast.USub):
                return -value
            if isinstance(node.op, ast.Invert):
                return ~value
            return +value

    def visit_Compare(self, node: ast.Compare) -> Any:
        if len(node.ops) != 1:
            raise unsupported(self, node, "chained comparison", "write (a < b) & (b < c)")
        lhs, rhs = self.visit(node.left), self.visit(node.comparators[0])
        kind = type(node.ops[0])
        if kind in (ast.Is, ast.IsNot):
            same = values.unwrap(lhs) is values.unwrap(rhs)
            return core.constexpr(same if kind is ast.Is else not same)
        if kind not in _COMPARE:
            raise unsupported(self, node, "'in'")
        with self.at(node):
            return _COMPARE[kind](lhs, rhs)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        is_and = isinstance(node.op, ast.And)
        combine = values.logical_and if is_and else values.logical_or
        result = None  # of the tensors so far
        for operand in node.values:
            value = self.visit(operand)
            if values.is_tensor(value):
                with self.at(node):
                    result = value if result is None else combine(result, value)
            elif bool(value) != is_and:
                return value  # a constant that decides; others change nothing
        return value if result is None else result

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        value = self.visit(node.value)
        with self.at(node):
            if isinstance(value, core.constexpr) and node.attr not in ("value", "type"):
                value = value.value
            if values.is_tensor(value) and node.attr == "T":
                return tl.trans(value)
            found = getattr(value, node.attr)
            if not isinstance(value, aggregate_value):
                self.used.note_attribute(value, node.attr, found)
            return globals_rule.check_module_attribute(value, node.attr, found)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        if not isinstance(node.ctx, ast.Load):
            raise unsupported(self, node, "assignment to an element", "use tl.where")
        value, index = self.visit(node.value), self.visit(node.slice)
        with self.at(node):
            return value[index]

    def visit_Slice(self, node: ast.Slice) -> Any:
        parts = [
            values.unwrap(self.visit(p)) if p else None for p in (node.lower, node.upper, node.step)
        ]
        return slice(*parts)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        return self.conditional_value(node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> Any:
        value = self.visit(node.value)
        self.bind(node.target, value)
        return value

    def visit_JoinedStr(self, node: ast.JoinedStr) -> Any:
        text = ""
        for part in node.values:
            if isinstance(part, ast.Constant):
                text += str(part.value)
                continue
            assert isinstance(part, ast.FormattedValue)
            value = values.unwrap(self.visit(part.value))
            if values.is_tensor(value):
                raise unsupported(
                    self, part, "a run-time value in an f-string", "use tl.device_print"
                )
            spec = values.unwrap(self.visit(part.format_spec)) if part.format_spec else ""
            text += format(repr(value) if part.conversion == ord("r") else value, spec)
        return core.constexpr(text)

    def visit_ListComp(self, node: ast.ListComp) -> Any:
        if len(node.generators) != 1 or node.generators[0].ifs:
            raise unsupported(self, node, "a comprehension with several loops or a condition")
        generator = node.generators[0]
        items = self.visit(generator.iter)
        if not isinstance(items, Iterable) or isinstance(items, tl.range):
            what = "a comprehension over something else than a tuple or tl.static_range"
            raise unsupported(self, generator.iter, what)
        if isinstance(items, tl.static_range):
            items = map(core.constexpr, self.unrolled(items))
        kept = dict(self.frame.values)
        results = []
        for item in items:
            self.assign(generator.target, item)
            results.append(self.visit(node.elt))
        self.frame.values = kept
        return core.tuple(results)

    def visit_Call(self, node: ast.Call) -> Any:
        return calls.visit_call(self, node)

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        return self.nested_function(node)

    def nested_function(self, node: ast.FunctionDef | ast.Lambda) -> NestedFunction:
        if node.args.kwarg:
            raise unsupported(self, node, "a '**' parameter")
        defaults = {name: self.visit(d) for name, d in default_nodes(node.args).items()}
        return NestedFunction(self.frame, node, defaults)

    # -- plain statements -----------------------------------------------------------------------

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return  # a docstring
        self.dropped = node.value
        self.visit(node.value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for decorator in node.decorator_list:
            target = decorator.func if isinstance(decorator, ast.Call) else decorator
            if ast.unparse(target).rpartition(".")[2] != "jit":
                raise unsupported(self, decorator, "a decorator other than @jit")
        self.frame.values[node.name] = self.nested_function(node)

    def visit_With(self, node: ast.With) -> None:
        """Context managers are Python's: they are entered and left while the kernel is compiled."""
        if contains(node.body, ast.Return):
            raise unsupported(self, node, "'return' inside a 'with'")
        with contextlib.ExitStack() as stack:
            for item in node.items:
                manager = values.unwrap(calls.context_manager(self, item.context_expr))
                entered = stack.enter_context(manager)
                if item.optional_vars is not None:
                    self.assign(item.optional_vars, values.decay(entered))
            self.visit_body(node.body)

    def visit_Pass(self, node: ast.Pass) -> None:
        del node

    def visit_Assert(self, node: ast.Assert) -> None:
        condition = self.visit(node.test)
        message = self.visit(node.msg) if node.msg else core.constexpr("")
        with self.at(node):
            tl.device_assert(condition, values.unwrap(message))

    def visit_Assign(self, node: ast.Assign) -> None:
        if len(node.targets) != 1:
            raise unsupported(self, node, "assignment to several targets (a = b = c)")
        value = self.visit(node.value)
        with self.at(node):
            self.bind(node.targets[0], value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        annotation = self.visit(node.annotation)
        if node.value is None:
            if annotation is core.constexpr and isinstance(node.target, ast.Name):
                self.frame.declared.add(node.target.id)
            return
        value = self.visit(node.value)
        if annotation is core.constexpr:
            assert isinstance(node.target, ast.Name)
            if node.target.id in self.frame.values:
                raise ValueError(
                    f"'{node.target.id}' is already defined: a constexpr cannot be reassigned"
                )
            if not isinstance(value, core.constexpr) and not values.is_tensor(value):
                value = core.constexpr(value)
            # Triton takes run-time values here too, and public kernels have them.
            self.frame.values[node.target.id] = value
            return
        self.bind(node.target, value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if not isinstance(node.target, ast.Name):
            raise unsupported(self, node, "assignment to an element")
        load = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        result = self.binary(node, type(node.op), self.visit(load), self.visit(node.value))
        self.assign(node.target, values.decay(result))

    def bind(self, target: ast.expr, value: Any) -> None:
        """Assign what a statement gives: numbers become tensors, but for names of constants."""
        declared = self.frame.declared
        if isinstance(target, ast.Name) and target.id in declared:
            keeps = isinstance(value, core.constexpr) or values.is_tensor(value)
            self.assign(target, value if keeps else core.constexpr(value))
        elif declared and isinstance(target, ast.Tuple) and isinstance(value, core.tuple):
            for part, item in self.unpacked(target, builtins.list(value)):
                self.bind(part, item)
        else:
            self.assign(target, values.decay(value))

    def unpacked(
        self, target: ast.Tuple | ast.List, items: list[Any]
    ) -> Iterator[tuple[ast.expr, Any]]:
        """The names of a tuple pattern with their values. As in Triton, more values than names are
        no error: those at the end are left out."""
        if starred := next((e for e in target.elts if isinstance(e, ast.Starred)), None):
            raise unsupported(self, starred, "a starred name on the left", "name each value")
        if len(items) < len(target.elts):
            raise ValueError(f"cannot unpack {len(items)} values into {len(target.elts)} names")
        return zip(target.elts, items, strict=False)

    def assign(self, target: ast.expr, value: Any) -> None:
        """Bind a name, or the names of a tuple pattern."""
        if isinstance(target, ast.Name):
            if values.is_tensor(value):
                self.builder.name_value(value, target.id)
            self.frame.values[target.id] = value
            self.frame.lost.pop(target.id, None)
        elif isinstance(target, ast.Tuple | ast.List):
            if values.is_tensor(value):
                raise TypeError(
                    f"cannot unpack a tensor of {type_text(value)} into {len(target.elts)} names; "
                    "tl.split gives the halves of a last dimension of 2"
                )
            for part, item in self.unpacked(target, builtins.list(value)):
                self.assign(part, item)
        elif isinstance(target, ast.Subscript):
            raise unsupported(self, target, "assignment to an element", "use tl.where")
        else:
            raise unsupported(self, target, "assignment to an attribute")
