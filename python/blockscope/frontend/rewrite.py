"""The copy of a kernel function that step mode runs: plain Python on the lines of the original.

Only what means something else in a kernel than in Python is changed: numbers bound to names become
tensors, loops over ``range`` count with tensors, ``and``/``or``/``not`` work on tensors, ``assert``
is a device_assert, and breakpoints ask whether this program is the one to stop in. Line and column
numbers stay, so pdb and tracebacks show the user's file.
"""

import ast
import types
from typing import Any

from blockscope.frontend import syntax_tree
from blockscope.frontend.loop_slice import deciding
from blockscope.process_lock import loading

_RUNTIME = "__blockscope_step__"
#: The parameter of a function that holds a part of an expression back.
LATER = f"{_RUNTIME}later"
_KERNEL_BUILTINS = frozenset(
    ["abs", "bool", "float", "getattr", "hasattr", "int", "isinstance", "max", "min"]
)


def stepped_function(fn: Any) -> types.FunctionType:
    """Return the function that step mode calls with all parameters of the JITFunction in order."""
    with loading:
        from blockscope.frontend import step_runtime

    source = fn.function_source
    definition = source.definition()
    names = [a.arg for a in _all_arguments(definition.args)]
    local_names = set(names) | {
        n.id
        for n in ast.walk(definition)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    definition.args = ast.arguments(
        posonlyargs=[], args=[ast.arg(n) for n in names], kwonlyargs=[], kw_defaults=[], defaults=[]
    )
    definition.decorator_list = []
    definition.returns = None
    shadowed = local_names | set(fn.fn.__globals__) - set(dir(__builtins__))
    rewriter = _Rewriter(shadowed, _declared_constants(definition))
    definition.body = [rewriter.visit(s) for s in definition.body]
    free = fn.fn.__code__.co_freevars
    body: list[ast.stmt] = [definition, ast.Return(ast.Name(definition.name, ast.Load()))]
    if definition.name not in free:  # a kernel that calls itself means the module's name
        body.insert(0, ast.Global([definition.name]))
    outer = ast.FunctionDef(
        name="_closure",
        args=ast.arguments(
            posonlyargs=[],
            args=[ast.arg(n) for n in free],
            kwonlyargs=[],
            kw_defaults=[],
            defaults=[],
        ),
        body=body,
        decorator_list=[],
    )
    module = ast.Module([outer], type_ignores=[])
    ast.fix_missing_locations(module)
    code = syntax_tree.compile_tree(module, source.file)
    outer_code = next(c for c in code.co_consts if isinstance(c, types.CodeType))
    inner = next(
        c
        for c in outer_code.co_consts
        if isinstance(c, types.CodeType) and c.co_name == definition.name
    )
    fn.fn.__globals__[_RUNTIME] = step_runtime
    cells = dict(zip(free, fn.fn.__closure__ or (), strict=True))
    closure = tuple(cells[name] for name in inner.co_freevars)
    return types.FunctionType(inner, fn.fn.__globals__, fn.__name__, None, closure)


def _all_arguments(arguments: ast.arguments) -> list[ast.arg]:
    found = [*arguments.posonlyargs, *arguments.args]
    if arguments.vararg:
        found.append(arguments.vararg)
    return found + arguments.kwonlyargs


def _at_begin(node: ast.expr, at: ast.AST) -> ast.expr:
    ast.copy_location(node, at)
    node.end_lineno, node.end_col_offset = node.lineno, node.col_offset
    return node


def _runtime(name: str, *args: ast.expr, at: ast.AST) -> ast.expr:
    """`__blockscope_step__.name(args)` at the place of ``at``.

    The function is where ``at`` begins: Python has calls at the line where their function ends, and
    a debugger would stop at the last line of a loop before its first iteration.
    """
    function: ast.expr = _at_begin(ast.Name(_RUNTIME, ast.Load()), at)
    for part in name.split("."):
        function = _at_begin(ast.Attribute(function, part, ast.Load()), at)
    return ast.copy_location(ast.Call(function, list(args), []), at)


def _later(body: ast.expr) -> ast.expr:
    """A function without parameters that gives the value of ``body``."""
    if any(isinstance(node, ast.NamedExpr) for node in ast.walk(body)):
        # A name that a lambda binds is its own, one that a generator binds the function's.
        once = ast.Tuple([ast.Constant(None)], ast.Load())
        loop = ast.comprehension(ast.Name(f"{_RUNTIME}once", ast.Store()), once, [], is_async=0)
        generator = ast.GeneratorExp(body, [loop])
        step = ast.Attribute(generator, "__next__", ast.Load())
        return ast.fix_missing_locations(ast.copy_location(step, body))
    marked = ast.arguments(
        posonlyargs=[], args=[ast.arg(LATER)], kwonlyargs=[], kw_defaults=[],
        defaults=[ast.Constant(None)],
    )  # fmt: skip
    return ast.fix_missing_locations(ast.copy_location(ast.Lambda(marked, body), body))


def _declared_constants(definition: ast.FunctionDef) -> frozenset[str]:
    """The names that stay constants: ``x: tl.constexpr`` without a value."""
    return frozenset(
        node.target.id
        for node in ast.walk(definition)
        if isinstance(node, ast.AnnAssign)
        and node.value is None
        and isinstance(node.target, ast.Name)
        and "constexpr" in ast.unparse(node.annotation)
    )


class _Rewriter(ast.NodeTransformer):
    def __init__(self, shadowed: set[str], constants: frozenset[str]) -> None:
        self.shadowed = shadowed
        self.constants = constants

    def bound(self, target: ast.expr, value: ast.expr) -> ast.expr:
        """The value as it is bound to the names of ``target``."""
        parts = target.elts if isinstance(target, ast.Tuple) else [target]
        stays = [isinstance(part, ast.Name) and part.id in self.constants for part in parts]
        if not any(stays):
            return _runtime("decay", value, at=value)
        if not isinstance(target, ast.Tuple):
            return _runtime("constexpr", value, at=value)
        flags = [ast.copy_location(ast.Constant(stay), value) for stay in stays]
        return _runtime("decay_but", value, *flags, at=value)

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        self.generic_visit(node)
        if not (isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute)):
            node.value = self.bound(node.targets[0], node.value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        if node.value is None:
            return node
        is_constexpr = "constexpr" in ast.unparse(node.annotation)
        value = _runtime("constexpr" if is_constexpr else "decay", node.value, at=node.value)
        return ast.copy_location(ast.Assign([node.target], value), node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.NamedExpr:
        self.generic_visit(node)
        node.value = self.bound(node.target, node.value)
        return node

    def visit_For(self, node: ast.For) -> ast.For:
        self.generic_visit(node)
        node.iter = _runtime("iterate", node.iter, at=node.iter)
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        parts = deciding(node)
        self.generic_visit(node)
        if node.orelse:
            return node
        # for _ in iterations(...): if not test: break; ... - so that findings know the iteration
        leave = ast.If(ast.UnaryOp(ast.Not(), node.test), [ast.Break()], [])
        for part in (leave, leave.test, leave.body[0]):
            ast.copy_location(part, node.test)
        target = ast.copy_location(ast.Name("_iteration", ast.Store()), node)
        constants: tuple[Any, ...] = parts or (None, None, None)
        decides = [ast.copy_location(ast.Constant(part), node) for part in constants]
        loop = ast.For(target, _runtime("iterations", *decides, at=node), [leave, *node.body], [])
        return ast.copy_location(loop, node)

    def visit_Expr(self, node: ast.Expr) -> ast.Expr:
        name = ast.unparse(node.value.func) if isinstance(node.value, ast.Call) else ""
        self.generic_visit(node)
        call = node.value  # breakpoints are no calls any more
        if isinstance(call, ast.Call) and not ast.unparse(call.func).startswith(_RUNTIME):
            text = ast.copy_location(ast.Constant(name), call.func)
            call.func = _runtime("dropped", call.func, text, at=call.func)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        self.generic_visit(node)
        name = "logical_and" if isinstance(node.op, ast.And) else "logical_or"
        first, *rest = node.values
        return _runtime(name, first, *(_later(value) for value in rest), at=node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        if any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops):  # a constexpr None is None
            node.left = _runtime("core.unwrap", node.left, at=node.left)
            node.comparators = [_runtime("core.unwrap", c, at=c) for c in node.comparators]
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            return _runtime("logical_not", node.operand, at=node)
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.Expr:
        self.generic_visit(node)
        message = node.msg or ast.copy_location(ast.Constant(""), node)
        call = _runtime("device_assert", node.test, message, at=node)
        return ast.copy_location(ast.Expr(call), node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        function = node.func
        if isinstance(function, ast.Name) and function.id not in self.shadowed:
            if function.id == "range":
                return _runtime("counted", *node.args, at=node)
            if function.id == "breakpoint":
                stop = _runtime("stop", at=node)
                return self.only_in_chosen_program(stop, node)
            if function.id in _KERNEL_BUILTINS:
                node.func = ast.copy_location(
                    ast.Attribute(
                        ast.copy_location(ast.Name(_RUNTIME, ast.Load()), function),
                        f"{function.id}_",
                        ast.Load(),
                    ),
                    function,
                )
        if isinstance(function, ast.Attribute) and function.attr == "set_trace":
            if isinstance(function.value, ast.Name) and function.value.id == "pdb":
                return self.only_in_chosen_program(_runtime("stop", at=node), node)
            return self.only_in_chosen_program(node, node)
        return node

    def only_in_chosen_program(self, stop: ast.expr, node: ast.Call) -> ast.expr:
        test = _runtime("stops_here", at=node)
        return ast.copy_location(ast.BoolOp(ast.And(), [test, stop]), node)
