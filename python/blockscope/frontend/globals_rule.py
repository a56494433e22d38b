"""Which names from outside a kernel it may use, and what they mean there."""

import builtins
import inspect
import types
from typing import Any

from blockscope import knobs
from blockscope.frontend import module_annotations
from blockscope.frontend.used_values import UsedValues
from blockscope.language import core

_BUILTINS = {
    name: getattr(builtins, name)
    for name in [
        "abs",
        "bool",
        "float",
        "getattr",
        "hasattr",
        "int",
        "isinstance",
        "len",
        "list",
        "max",
        "min",
        "print",
        "range",
        "repr",
        "str",
        "tuple",
        "type",
        "True",
        "False",
        "None",
        "ValueError",
        "sum",
        "all",
        "any",
        "zip",
        "enumerate",
        "reversed",
        "round",
    ]
    if hasattr(builtins, name)
}


def look_up(fn: Any, name: str, used: UsedValues) -> Any:
    """Return a name of the enclosing functions, the module or Python's builtins.

    What is read from outside is noted in ``used``: a change of it makes the compiled kernel stale.

    Errors: NameError for an unknown name and for a module variable that is not constexpr, since a
    compiled kernel would keep its old value.
    """
    value, where = find(fn.fn, name)
    if where is None and name in ("breakpoint", "pdb"):
        raise NameError(
            f"'{name}' works in step mode: set TRITON_INTERPRET=1, or use blockscope run --step"
        )
    if where is None:
        of_python = "; kernels do not have this name of Python's" * hasattr(builtins, name)
        raise NameError(f"'{name}' is not defined{of_python}")
    if where == "global":
        used.note(fn.fn.__globals__, name, value)
    elif where == "closure":
        used.note(cell_of(fn.fn, name), name, value)
    if where == "builtin" or _is_allowed(value):
        return value
    if where == "global":
        if allows_plain_variables() or module_annotations.is_constexpr(fn.fn, name):
            return value if isinstance(value, core.tensor) else core.constexpr(value)
        raise NameError(
            f"Cannot access global variable {name} ({type(value).__name__}) from within a kernel, "
            f"which would keep its old value when it is compiled; pass it as an argument or write "
            f"{name} = tl.constexpr({value!r})"
        )
    return core.constexpr(value) if isinstance(value, bool | int | float | str) else value


def allows_plain_variables() -> bool:
    """Whether kernels may read any number of a module, which a compiled kernel then keeps."""
    return bool(knobs.compilation.allow_non_constexpr_globals)


def find(fn: Any, name: str) -> tuple[Any, str | None]:
    """Return what a name means in a Python function and where it is from, None when unknown."""
    if name in fn.__code__.co_freevars and fn.__closure__:
        try:
            return cell_of(fn, name).cell_contents, "closure"
        except ValueError:
            return None, None
    if name in fn.__globals__:
        return fn.__globals__[name], "global"
    if name in _BUILTINS:
        return _BUILTINS[name], "builtin"
    return None, None


def cell_of(fn: Any, name: str) -> Any:
    return fn.__closure__[fn.__code__.co_freevars.index(name)]


def _is_allowed(value: Any) -> bool:
    if value is None or isinstance(
        value, core.constexpr | core.dtype | types.ModuleType | core.tuple
    ):
        return True
    if callable(value) or inspect.isclass(value):
        return True
    return isinstance(value, tuple) and hasattr(value, "_fields")


def check_module_attribute(owner: Any, name: str, value: Any) -> Any:
    """A plain number found in a module is a module variable too; Python's modules are constants."""
    if isinstance(owner, types.ModuleType) and isinstance(value, bool | int | float | str):
        return core.constexpr(value)
    return value
