"""A kernel's function: its parameters, its source, and calls of it inside other kernels."""

from __future__ import annotations

import ast
import functools
import inspect
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from blockscope.errors import SourceNotFound
from blockscope.frontend import annotation
from blockscope.frontend.source import FunctionSource, lines_around, start_of_definition
from blockscope.language import context, core
from blockscope.lazy import lazy_property
from blockscope.signatures import signature_of

kernel_functions: weakref.WeakValueDictionary[str, KernelFunction] = weakref.WeakValueDictionary()
"""The last one made under each ``module:qualified name``."""


class KernelParam:
    """One parameter of a kernel."""

    def __init__(self, index: int, parameter: inspect.Parameter, *, specialize: bool) -> None:
        self.num = index
        self._parameter = parameter
        self.name = parameter.name
        self.default = parameter.default
        self.has_default = parameter.default is not inspect.Parameter.empty
        self.do_not_specialize = not specialize
        self.annotation = annotation.text_of(parameter.annotation)
        self.type = annotation.type_of(self.annotation)
        """The dtype or pointer type that the annotation fixes, or None."""
        self.annotation_type = self.annotation if self.type is not None else ""
        self.is_constexpr = "constexpr" in self.annotation
        self.is_const = not self.is_constexpr and (
            "const" in self.annotation or self.annotation.startswith("*k")
        )
        self.is_variadic = parameter.kind is inspect.Parameter.VAR_POSITIONAL
        self.is_keyword_only = parameter.kind is inspect.Parameter.KEYWORD_ONLY

    def __repr__(self) -> str:
        return f"KernelParam({self.name!r})"


class Inlined:
    """A function that kernels inline where they call it: a @jit function, or one of their own."""

    __name__: str
    fn: Any  # the Python function, or the one around it
    params: list[KernelParam]
    function_source: Any
    noinline: bool | None = None  # changes nothing but the compiler's notes

    def surrounding(self) -> dict[str, Any]:
        """The names of the function around this one, with their values now."""
        return {}

    @property
    def statements(self) -> list[ast.stmt]:
        """The body."""
        return list(self.function_source.tree.body)

    def bind_in_kernel(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Bind a call inside a kernel: defaults filled, Python numbers as constexpr.

        Done by hand, since step mode calls this often and a debugger would step into `inspect`.
        Run-time values are let through for constexpr parameters, as Triton does.
        """
        values = {}
        rest = list(args)
        named = dict(kwargs)
        for param in self.params:
            name = param.name
            if param.is_variadic:
                values[name] = core.tuple([_in_kernel(v) for v in rest])
                rest = []
                continue
            if rest and not param.is_keyword_only:
                if name in named:
                    raise TypeError(f"call of '{self.__name__}': two values for '{name}'")
                value = rest.pop(0)
            elif name in named:
                value = named.pop(name)
            elif param.has_default:
                value = param.default
            else:
                raise TypeError(f"call of '{self.__name__}': missing argument '{name}'")
            value = _in_kernel(value)
            if param.is_constexpr and not isinstance(
                value, core.constexpr | core.tuple | core.tensor
            ):
                value = core.constexpr(value)
            values[name] = value
        if rest or named:
            extra = f"'{next(iter(named))}'" if named else f"{len(args)} positional values"
            raise TypeError(
                f"call of '{self.__name__}': {extra} too much, expected "
                f"{', '.join(p.name for p in self.params) or 'no arguments'}"
            )
        return values

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run this function inside the kernel that is being compiled or stepped now."""
        kernel = context.current()
        if kernel is None:
            raise RuntimeError(
                f"kernel '{self.__name__}' is launched with a grid: {self.__name__}[grid](...)"
            )
        return kernel.call(self, args, kwargs)


class KernelFunction(Inlined):
    """A Python function over blocks.

    Errors: TypeError for anything but a plain function, and for a ``**`` parameter.
    """

    _lines: Sequence[str] | None = None  # around the function, when it was decorated
    _raw_src: list[str] | None = None
    _starting_line: int | None = None

    def __init__(self, fn: Callable[..., Any], do_not_specialize: Any = None) -> None:
        if not inspect.isfunction(fn):
            raise TypeError(f"@jit needs a Python function, found {type(fn).__name__}")
        kinds = {"async": inspect.iscoroutinefunction, "a generator": inspect.isgeneratorfunction}
        for kind, is_it in kinds.items():
            if is_it(fn) or (kind == "async" and inspect.isasyncgenfunction(fn)):
                raise TypeError(
                    f"@jit function '{fn.__name__}' is {kind}, expected a plain function"
                )
        self.fn = fn
        self._fn_name = f"{fn.__module__}.{fn.__qualname__}"
        self.module = fn.__module__
        self.signature = signature_of(fn)
        for parameter in self.signature.parameters.values():
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                raise TypeError(f"@jit function '{fn.__name__}' may not have a '**' parameter")
        excluded = set(do_not_specialize or ())
        self.do_not_specialize = do_not_specialize or []
        self.params = [
            KernelParam(i, p, specialize=i not in excluded and p.name not in excluded)
            for i, p in enumerate(self.signature.parameters.values())
        ]
        self.arg_names = [p.name for p in self.params]
        self.constexprs = [p.num for p in self.params if p.is_constexpr]
        functools.update_wrapper(self, fn)
        self.__name__ = fn.__name__
        self.__globals__ = fn.__globals__
        self._lines = lines_around(fn)
        kernel_functions[f"{self.module}:{fn.__qualname__}"] = self

    @lazy_property
    def function_source(self) -> FunctionSource:
        """Errors: SourceNotFound."""
        return FunctionSource(self.fn, self._lines)

    def replace_source(self, text: str) -> None:
        """Take ``text``, a whole definition, for the source of this function from now on."""
        try:
            self.function_source.replace(text)
        except SourceNotFound:
            self.__dict__["function_source"] = FunctionSource.written(self.fn, text)
        for name in ("_stepped", "_stepped_as_written"):
            self.__dict__.pop(name, None)

    def get_capture_scope(self) -> dict[str, Any]:
        """The variables that the function sees: of its module, and of the functions around it."""
        names = self.fn.__code__.co_freevars
        cells = dict(zip(names, self.fn.__closure__ or (), strict=False))
        return self.__globals__ | {name: cell.cell_contents for name, cell in cells.items()}

    @property
    def raw_src(self) -> list[str]:
        """The function's lines with its decorators, or what a library that has made it from another
        one has put in their place: then its ``def`` stands where it stands in these lines, which
        begin at ``starting_line_number``."""
        return self._raw_src or self.function_source.text.splitlines(keepends=True)

    @raw_src.setter
    def raw_src(self, lines: list[str]) -> None:
        self._raw_src = lines

    @property
    def starting_line_number(self) -> int:
        return self._starting_line or self.function_source.first_line

    @starting_line_number.setter
    def starting_line_number(self, line: int) -> None:
        self._starting_line = line
        text = "".join(self.raw_src)
        self.function_source.place(line + text.count("\n", 0, start_of_definition(text)))

    @property
    def src(self) -> str:
        """The function's text from its ``def`` on."""
        text = self.function_source.text
        return text[start_of_definition(text) :]

    @src.setter
    def src(self, text: str) -> None:
        self._unsafe_update_src(text)

    def _unsafe_update_src(self, new_src: str) -> None:
        """Triton's name for ``replace_source``."""
        self.replace_source(new_src)


def _in_kernel(value: Any) -> Any:
    """A Python value as a kernel passes it on: numbers, strings and dtypes are constexpr."""
    if isinstance(value, core.tensor | core.constexpr):
        return value
    if isinstance(value, tuple) and not isinstance(value, core.tuple):
        return core.tuple._from_named(value)
    if isinstance(value, bool | int | float | str | core.dtype) or value is None:
        return core.constexpr(value)
    return value
