"""Calls inside a kernel: the language, nested @jit functions, and the builtins of Python."""

import ast
import builtins
import inspect
import numbers
from collections.abc import Callable
from typing import Any

from blockscope import _core
from blockscope import language as tl
from blockscope.frontend import function_reads, values
from blockscope.frontend.constexpr_function import ConstexprFunction
from blockscope.frontend.diagnose import compile_error, unsupported
from blockscope.frontend.kernel_function import Inlined
from blockscope.language import core
from blockscope.signatures import signature_of


def visit_call(generator: Any, node: ast.Call) -> Any:
    """Evaluate the function and its arguments, then call it as the kernel language does."""
    callee = generator.visit(node.func)
    fn = values.unwrap(callee)
    if callee is not fn and inspect.isfunction(fn) and not _is_language(fn):
        fn = ConstexprFunction(fn)  # tl.constexpr(f): a Python function to run while compiling
    if node is generator.dropped and (message := values.must_use(fn, ast.unparse(node.func))):
        raise compile_error(generator, node, message)
    args = generator.elements(node.args)
    kwargs: dict[str, Any] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise unsupported(generator, node, "'**' in a call")
        kwargs[keyword.arg] = generator.visit(keyword.value)
    with generator.at(node):
        return call(generator, node, fn, tuple(args), kwargs)


def call(
    generator: Any, node: ast.Call, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    if isinstance(fn, Inlined):
        return generator.inline(fn, args, kwargs)
    constexpr_function = getattr(fn, "__func__", fn)
    if isinstance(constexpr_function, ConstexprFunction):
        try:
            return fn(*args, **kwargs)
        finally:
            function_reads.note(generator.used, constexpr_function)
    if _is_users_builtin(fn):
        return _call_users_builtin(fn, args, kwargs)
    replacement = BUILTIN_CALLS.get(fn) if callable(fn) and _hashable(fn) else None
    if replacement is not None:
        return replacement(*args, **kwargs)
    if _is_language(fn):
        return fn(*args, **kwargs)
    if inspect.isclass(fn) and issubclass(fn, builtins.tuple):  # a NamedTuple
        return core.tuple._from_named(fn(*args, **kwargs))
    if inspect.isclass(fn) and issubclass(fn, BaseException):
        return fn(*(values.unwrap(a) for a in args))
    if callable(fn) and isinstance(node.func, ast.Attribute) and not _is_debugger(fn):
        return _call_python(generator, node, fn, args, kwargs)
    if inspect.isfunction(fn) or inspect.isbuiltin(fn) or inspect.isclass(fn):
        kind, name = "class" if inspect.isclass(fn) else "function", getattr(fn, "__name__", fn)
        what = f"a call of the Python {kind} '{name}'"
        raise unsupported(generator, node, what, _instead_of(fn))
    raise TypeError(f"'{type(fn).__name__}' object is not callable in a kernel")


def _instead_of(fn: Any) -> str:
    """What to do where a kernel calls something of Python's."""
    if _is_debugger(fn):
        return "use step mode: TRITON_INTERPRET=1, or blockscope run --step"
    if fn in (builtins.zip, builtins.enumerate, builtins.reversed):
        return "loop over tl.static_range(...) and take the elements by index"
    if getattr(fn, "__module__", "") == "builtins":
        return "call it outside, and pass what it gives as an argument"
    return f"decorate it with @{'aggregate' if inspect.isclass(fn) else 'jit'}"


def _is_users_builtin(fn: Any) -> bool:
    is_marked = getattr(fn, "__triton_builtin__", False) or core.is_builtin(fn)
    return is_marked and inspect.isfunction(fn) and not fn.__module__.startswith("blockscope.")


def _call_users_builtin(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Its constants are constexpr, as in Triton; what Triton hands it beside them means nothing."""
    named = {name: _as_constexpr(value) for name, value in kwargs.items()}
    for name in _core.KEYWORDS_FROM_TRITON:
        parameter = signature_of(fn).parameters.get(name)
        if parameter is not None and parameter.default is parameter.empty:
            named.setdefault(name, None)
    return fn(*(_as_constexpr(value) for value in args), **named)


def _as_constexpr(value: Any) -> Any:
    is_constant = value is None or isinstance(value, int | float | str)
    return core.constexpr(value) if is_constant else value


def _call_python(
    generator: Any, node: ast.Call, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Call what a module or a class has, such as math.sqrt or torch.finfo, while compiling."""
    if any(values.is_tensor(value) for value in (*args, *kwargs.values())):
        raise unsupported(
            generator,
            node,
            f"a call of '{ast.unparse(node.func)}' with a value that is not a constant",
            "decorate it with @jit" if inspect.isfunction(fn) else None,
        )
    named = {name: values.unwrap(value) for name, value in kwargs.items()}
    result = fn(*(values.unwrap(value) for value in args), **named)
    function_reads.note(generator.used, fn)
    if isinstance(result, numbers.Number) and not isinstance(result, int | float | complex):
        result = getattr(result, "item", lambda: result)()  # a number of NumPy
    return core.constexpr(result) if isinstance(result, int | float | str) else result


def _is_debugger(fn: Any) -> bool:
    return getattr(fn, "__module__", None) in ("pdb", "ipdb")


def context_manager(generator: Any, node: ast.expr) -> Any:
    """What a 'with' enters. A call makes it by plain Python, as Triton does."""
    if not isinstance(node, ast.Call):
        return generator.visit(node)
    fn = values.unwrap(generator.visit(node.func))
    if isinstance(fn, Inlined) or _is_language(fn):
        return generator.visit(node)
    args = [values.unwrap(a) for a in generator.elements(node.args)]
    named = {k.arg: values.unwrap(generator.visit(k.value)) for k in node.keywords if k.arg}
    return fn(*args, **named)


def _hashable(fn: Any) -> bool:
    return getattr(type(fn), "__hash__", None) is not None


def _is_language(fn: Any) -> bool:
    """Functions of blockscope.language, and methods of its values."""
    owner = getattr(fn, "__self__", None)
    if owner is not None and not inspect.ismodule(owner):
        owner_type = owner if inspect.isclass(owner) else type(owner)
        return _is_language(owner_type) or isinstance(owner, builtins.str)
    module = getattr(fn, "__module__", None) or ""
    return module.startswith("blockscope.") or getattr(fn, "__blockscope_builtin__", False)


def _len(value: Any) -> Any:
    return core.constexpr(len(values.unwrap(value)))


def _isinstance(value: Any, kinds: Any) -> Any:
    kinds = values.unwrap(kinds)
    kinds = (
        builtins.tuple(values.unwrap(k) for k in kinds) if isinstance(kinds, core.tuple) else kinds
    )
    inner = values.unwrap(value)
    return core.constexpr(isinstance(inner, kinds) or isinstance(value, kinds))


def _getattr(value: Any, name: Any, *otherwise: Any) -> Any:
    return getattr(values.unwrap(value), values.unwrap(name), *otherwise)


def _hasattr(value: Any, name: Any) -> Any:
    return core.constexpr(hasattr(values.unwrap(value), values.unwrap(name)))


def _convert(kind: Callable[[Any], Any], dtype: Any) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        return (
            tl.cast(value, dtype)
            if values.is_tensor(value)
            else core.constexpr(kind(values.unwrap(value)))
        )

    return convert


def _fold(python: Callable[..., Any], of_tensors: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def fold(*items: Any) -> Any:
        if len(items) == 1:
            items = builtins.tuple(items[0])
        if not any(values.is_tensor(v) for v in items):
            return core.constexpr(python(*(values.unwrap(v) for v in items)))
        result = items[0]
        for value in items[1:]:
            result = of_tensors(result, value)
        return result

    return fold


def _abs(value: Any) -> Any:
    return tl.abs(value) if values.is_tensor(value) else core.constexpr(abs(values.unwrap(value)))


def _static(python: Callable[..., Any]) -> Callable[..., Any]:
    def apply(*items: Any) -> Any:
        return core.constexpr(python(*(values.unwrap(v) for v in items)))

    return apply


def _tuple(value: Any = ()) -> Any:
    return core.tuple(builtins.list(value))


def _range(*bounds: Any, **_: Any) -> Any:
    """Options, which only `tl.range` has, are ignored, as Triton does."""
    return tl.range(*bounds)


BUILTIN_CALLS: dict[Any, Callable[..., Any]] = {
    builtins.len: _len,
    builtins.isinstance: _isinstance,
    builtins.getattr: _getattr,
    builtins.hasattr: _hasattr,
    builtins.int: _convert(int, tl.int32),
    builtins.float: _convert(float, tl.float32),
    builtins.bool: _convert(bool, tl.int1),
    builtins.max: _fold(max, tl.maximum),
    builtins.min: _fold(min, tl.minimum),
    builtins.abs: _abs,
    builtins.str: _static(str),
    builtins.repr: _static(repr),
    builtins.round: _static(round),
    builtins.print: tl.device_print,
    builtins.range: _range,
    builtins.tuple: _tuple,
    builtins.list: _tuple,
}
