"""The functions of a launch file as Python objects again, on the lines that they had.

Their text goes into ``linecache`` under the name of the original file, so that reports, tracebacks
and debuggers show it, whatever lies on the disk. Making a function runs none of its code; making a
class runs its body, and a kernel that runs is Python like that of a script.
"""

from __future__ import annotations

import ast
import builtins
import collections
import importlib
import linecache
import os
import types
from typing import Any

from blockscope.errors import LaunchFileError, TritonError
from blockscope.frontend import syntax_tree
from blockscope.frontend.constexpr_function import ConstexprFunction
from blockscope.language import core
from blockscope.launch_file.fields import Field
from blockscope.runtime.ir_function import IRFunction
from blockscope.runtime.jit import JITFunction

_LINES = 1 << 20  # of one file
_ALL_LINES = 1 << 24
_DEPTH = 64
_OUTER, _PLAIN = "__blockscope_outer__", "__blockscope_plain__"


def install_sources(head: Field) -> dict[str, Any]:
    """Put the lines of all files where Python and reports look for them; gives what was there."""
    total, before = 0, {}
    for name, lines in head["files"].named():
        known = {}
        for number, text in lines.named():
            line = int(number) if number.isdigit() and len(number) < 9 else 0
            if not 1 <= line <= _LINES:
                raise lines.wrong(f"lines from 1 to {_LINES}, by their number")
            known[line] = text.text()
        last = max(known, default=0)
        total += last
        if total > _ALL_LINES:
            raise head["files"].wrong(f"files with {_ALL_LINES} lines in all")
        for line in [line for line in known if line + 1 not in known]:
            known[line + 1] = "..."  # ends the definition before: lines of a script may follow
        text_lines = [f"{known.get(line, '')}\n" for line in range(1, last + 2)]
        size = sum(map(len, text_lines))
        for path in {name, os.path.abspath(name)}:  # pdb asks for the second one
            before[path] = linecache.cache.get(path)
            linecache.cache[path] = (size, None, text_lines, path)
    return before


def take_sources_back(before: dict[str, Any]) -> None:
    """Undo ``install_sources``."""
    for path, entry in before.items():
        if entry is None:
            linecache.cache.pop(path, None)
        else:
            linecache.cache[path] = entry


class Functions:
    """What ``functions`` of a file says, made when it is first asked for."""

    def __init__(self, head: Field) -> None:
        self._rows = head["functions"].items()
        self._made: dict[int, Any] = {}

    def get(self, number: Field) -> Any:
        """The function or class with a number."""
        index = number.number(0, len(self._rows) - 1)
        if index not in self._made:
            try:
                self._make(index, self._rows[index])
            except (SyntaxError, TypeError, ValueError, AttributeError, NameError, KeyError,
                    RecursionError, TritonError, IndexError, MemoryError) as error:  # fmt: skip
                raise LaunchFileError(
                    f"'{number.file}' is damaged: {self._rows[index].place} does not make a "
                    f"function or a class: {type(error).__name__}: {error}"
                ) from None
        return self._made[index]

    def row(self, number: Field) -> Field:
        """What the file says of a function."""
        return self._rows[number.number(0, len(self._rows) - 1)]

    def rows(self) -> list[Field]:
        return self._rows

    # -- values -----------------------------------------------------------------------------------

    def value(self, field: Field, depth: int = 0) -> Any:
        """The Python value of what ``launch_file/functions`` wrote."""
        value = field.value
        if depth > _DEPTH:
            raise field.wrong(f"values at most {_DEPTH} deep")
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if not isinstance(value, dict) or len(value) != 1:
            raise field.wrong("a value, or an object with one name that says of which kind")
        (kind,) = value
        inner = field[kind]
        make = _MAKERS.get(kind)
        if make is None:
            raise field.wrong(f"a value of a known kind ({', '.join(_MAKERS)})")
        return make(self, inner, depth + 1)

    def _float(self, field: Field, depth: int) -> Any:
        return float(field.choice("nan", "inf", "-inf"))

    def _constexpr(self, field: Field, depth: int) -> Any:
        return core.constexpr(self.value(field, depth))

    def _dtype(self, field: Field, depth: int) -> Any:
        known = [*core.dtype.SINT_TYPES, *core.dtype.UINT_TYPES, *core.dtype.FP_TYPES]
        return core.dtype(field.choice(*known, *core.dtype.OTHER_TYPES))

    def _pointer(self, field: Field, depth: int) -> Any:
        element, space, const = field.items(3, 3)
        kind = self.value(element, depth)
        if not isinstance(kind, core.dtype):
            raise element.wrong("a dtype")
        return core.pointer_type(kind, space.number(0, 64), const.flag())

    def _tuple(self, field: Field, depth: int) -> Any:
        return tuple([self.value(item, depth) for item in field.items()])

    def _list(self, field: Field, depth: int) -> Any:
        return [self.value(item, depth) for item in field.items()]

    def _dict(self, field: Field, depth: int) -> Any:
        found = {}
        for pair in field.items():
            key, value = (self.value(part, depth) for part in pair.items(2, 2))
            try:
                found[key] = value
            except TypeError:
                raise pair.wrong("a key that has a hash") from None
        return found

    def _kernel_tuple(self, field: Field, depth: int) -> Any:
        names, items = field.items(2, 2)
        fields = None if names.value is None else [name.text() for name in names.items()]
        return core.tuple([self.value(item, depth) for item in items.items()], fields)

    def _named_tuple(self, field: Field, depth: int) -> Any:
        cls, items = field.items(2, 2)
        made = self.value(cls, depth)
        if not (isinstance(made, type) and issubclass(made, tuple) and hasattr(made, "_make")):
            raise cls.wrong("a class of named tuples")
        return made._make([self.value(item, depth) for item in items.items()])

    def _tuple_class(self, field: Field, depth: int) -> Any:
        name, fields, defaults = field.items(3, 3)
        values = [self.value(pair.items(2, 2)[1], depth) for pair in defaults.items()]
        names = [each.text() for each in fields.items()]
        try:
            return collections.namedtuple(name.text(), names, defaults=values or None)
        except (ValueError, TypeError) as error:
            raise field.wrong(f"the name and the fields of a named tuple ({error})") from None

    def _member(self, field: Field, depth: int) -> Any:
        cls, name = field.items(2, 2)
        return getattr(self.value(cls, depth), name.text())

    def _simple(self, field: Field, depth: int) -> Any:
        return types.SimpleNamespace(**self._attributes(field, depth))

    def _attributes(self, field: Field, depth: int) -> dict[str, Any]:
        pairs = [pair.items(2, 2) for pair in field.items()]
        return {name.text(): self.value(value, depth) for name, value in pairs}

    def _module(self, field: Field, depth: int) -> Any:
        try:
            return importlib.import_module(field.text())
        except (ImportError, ValueError) as error:
            raise LaunchFileError(
                f"'{field.file}' needs the module '{field.value}', which is not here: {error}"
            ) from None

    def _of_module(self, field: Field, depth: int) -> Any:
        module, path = field.items(2, 2)
        found = self._module(module, depth)
        for part in path.text().split("."):
            try:
                found = getattr(found, part)
            except AttributeError:
                raise LaunchFileError(
                    f"'{field.file}' needs '{path.value}' of the module '{module.value}', which "
                    "has none here: another version of it wrote the file"
                ) from None
        return found

    def _namespace(self, field: Field, depth: int) -> Any:
        name, attributes = field.items(2, 2)
        module = types.ModuleType(name.text())
        vars(module).update(self._attributes(attributes, depth))
        return module

    def _code(self, field: Field, depth: int) -> Any:
        return self.get(field)

    # -- code -------------------------------------------------------------------------------------

    def _make(self, index: int, row: Field) -> None:
        kind = row["kind"].choice("jit", "constexpr_function", "python", "class", "ir")
        name = row["name"].text()
        if kind == "ir":
            self._made[index] = IRFunction(row["file"].text(), row["text"].text())
            return
        if kind == "class":
            self._make_class(index, row)
            return
        function = _function(row)
        count = len(function.__defaults__ or ())
        values = [self.value(item) for item in row["defaults"].items(count, count)]
        function.__defaults__ = tuple(values) or None
        function.__kwdefaults__ = self._attributes(row["keyword_defaults"], 0) or None
        made: Any = function
        if kind == "constexpr_function":
            made = ConstexprFunction(function)
        elif kind == "jit":
            annotations = dict(row["annotations"].named())
            function.__annotations__ = {n: text.text() for n, text in annotations.items()}
            made = self._jit(function, row["options"])
        self._made[index] = made  # before its names: it may call itself
        space = function.__globals__
        space.update(self._attributes(row["globals"], 0))
        space["__annotations__"] = {n.text(): "constexpr" for n in row["constants"].items()}
        inner = self._attributes(row["closure"], 0)
        for free, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        ):
            if free not in inner:
                raise row["closure"].wrong(f"the variable '{free}' of the function '{name}'")
            cell.cell_contents = inner[free]

    def _jit(self, function: Any, options: Field) -> Any:
        made: Any = JITFunction(function, **self._jit_options(options))
        if (steps := options.get("steps_always")) is not None and steps.flag():
            made.steps_always = True
        return made

    def _jit_options(self, options: Field) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name in ("do_not_specialize", "do_not_specialize_on_alignment"):
            if (given := options.get(name)) is not None:
                found[name] = [each.value for each in given.items()]
        for name in ("debug", "noinline"):
            if (flag := options.get(name)) is not None:
                found[name] = flag.flag()
        return found

    def _make_class(self, index: int, row: Field) -> None:
        module = row["module"].text()
        space: dict[str, Any] = {"__name__": module, "__builtins__": builtins}
        for pair in row["globals"].items():
            name, value = pair.items(2, 2)
            space[name.text()] = self.value(value)
        if index in self._made:  # made for what it uses itself
            return
        _, tree = _parsed(row, ast.ClassDef)
        code = syntax_tree.compile_tree(ast.Module([tree], []), row["file"].text())
        exec(code, space)
        self._made[index] = space[tree.name]


_MAKERS: dict[str, Any] = {
    name: getattr(Functions, f"_{name}")
    for name in (
        "float", "constexpr", "dtype", "pointer", "tuple", "list", "dict", "kernel_tuple",
        "named_tuple", "tuple_class", "member", "simple", "module", "of_module", "namespace",
        "code",
    )
}  # fmt: skip


def _parsed(row: Field, kind: Any) -> tuple[int, Any]:
    """The first line of a text, and its one definition with the lines of its file."""
    text, first = row["text"].text(), row["line"].number(1, _LINES)
    under = "if 1:\n" if text[:1] in (" ", "\t") else ""
    body: list[Any] = list(syntax_tree.parse(under + text).body)
    if under:
        body = body[0].body
    if len(body) != 1 or not isinstance(body[0], kind):
        raise row["text"].wrong("the text of one definition")
    ast.increment_lineno(body[0], first - (2 if under else 1))
    return first, body[0]


def _function(row: Field) -> Any:
    """The Python function of a text: without decorators, its defaults None, its names missing."""
    _, definition = _parsed(row, ast.FunctionDef)
    if definition.decorator_list:  # the function begins on the line of its first decorator
        place = definition.decorator_list[0]
        definition.decorator_list = [ast.copy_location(ast.Name(_PLAIN, ast.Load()), place)]
    arguments = definition.args
    arguments.defaults = [ast.copy_location(ast.Constant(None), d) for d in arguments.defaults]
    arguments.kw_defaults = [
        d and ast.copy_location(ast.Constant(None), d) for d in arguments.kw_defaults
    ]
    for argument in ast.walk(arguments):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    definition.returns = None
    if hasattr(definition, "type_params"):
        definition.type_params = []
    free = [name.items(2, 2)[0].text() for name in row["closure"].items()]
    if any(not name.isidentifier() for name in free):
        raise row["closure"].wrong("names of variables")
    body = [definition, ast.Return(ast.Name(definition.name, ast.Load()))]
    parameters = ast.arguments(
        posonlyargs=[], args=[ast.arg(n) for n in free], kwonlyargs=[], kw_defaults=[], defaults=[]
    )
    if definition.name not in free:  # a function that calls itself means the module's name
        body.insert(0, ast.Global([definition.name]))
    outer = ast.FunctionDef(name=_OUTER, args=parameters, body=body, decorator_list=[])
    if hasattr(definition, "type_params"):
        outer.type_params = []  # type: ignore[attr-defined]
    module = ast.Module([outer], [])
    ast.fix_missing_locations(module)
    space: dict[str, Any] = {
        "__name__": row["module"].text(), "__builtins__": builtins, _PLAIN: lambda f: f,
    }  # fmt: skip
    exec(syntax_tree.compile_tree(module, row["file"].text()), space)
    function = space.pop(_OUTER)(*[None] * len(free))
    space.pop(_PLAIN)
    space.pop(definition.name, None)
    function.__qualname__ = row["qualified_name"].text()
    return function
