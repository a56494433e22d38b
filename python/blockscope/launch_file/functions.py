"""The code of a kernel as data: its source, and all that it calls and reads, one by one.

Names are followed from the syntax trees of functions, as ``frontend/dependencies`` does. Modules of
Python, torch, NumPy and Triton stay names; of every other module what is used of it is taken along.
"""

from __future__ import annotations

import ast
import builtins
import enum
import importlib
import inspect
import math
import sys
import types
from typing import Any

from blockscope.errors import LaunchFileError, SourceNotFound
from blockscope.frontend import globals_rule, module_annotations
from blockscope.frontend.constexpr_function import ConstexprFunction
from blockscope.frontend.dependencies import own_names
from blockscope.frontend.kernel_function import KernelFunction
from blockscope.frontend.names import dotted_names
from blockscope.frontend.source import FunctionSource
from blockscope.language import core
from blockscope.runtime.ir_function import IRFunction
from blockscope.runtime.wrapper import Wrapper

#: Packages that a reader has, or says that it lacks.
_KNOWN = frozenset({"blockscope", "triton", "torch", "numpy", "ml_dtypes"})
_HOLDS = (
    "a launch file holds numbers, texts, dtypes, functions, classes, modules, and tuples, lists, "
    "dicts and constexpr of these"
)


class Functions:
    """The functions and classes that launches use, each once, as what ``launches.json`` says."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.lines: dict[str, dict[int, str]] = {}  # of the files, as far as they are taken along
        self._numbers: dict[int, int] = {}
        self._kept: list[Any] = []  # so that no id comes twice

    # -- values -----------------------------------------------------------------------------------

    def value(self, value: Any, what: str) -> Any:
        """A value as JSON. Errors: LaunchFileError for one that cannot be kept, named ``what``."""
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, enum.Enum):
            return {"member": [self.value(type(value), what), value.name]}
        if isinstance(value, int):
            return int(value)
        if isinstance(value, float):
            number = float(value)
            return number if math.isfinite(number) else {"float": repr(number)}
        if isinstance(value, core.constexpr):
            return {"constexpr": self.value(value.value, what)}
        if isinstance(value, core.pointer_type):
            element = self.value(value.element_ty, what)
            return {"pointer": [element, value.address_space, bool(value.const)]}
        if isinstance(value, core.dtype) and type(value) is core.dtype:
            return {"dtype": value.name}
        if isinstance(value, tuple | list):
            return self._sequence(value, what)
        if isinstance(value, dict):
            pairs = [[self.value(k, what), self.value(v, what)] for k, v in value.items()]
            return {"dict": pairs}
        if isinstance(value, types.ModuleType) and _is_known(value.__name__):
            return {"module": _module_name(value, what)}
        if (found := self._code(value, what)) is not None:
            return found
        if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
            return self.value(value.item(), what)
        if type(value) is types.SimpleNamespace:
            return {"simple": self._attributes(vars(value), what)}
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        raise LaunchFileError(f"{what} is a {kind}; {_HOLDS}")

    def _sequence(self, value: Any, what: str) -> Any:
        items = [self.value(item, f"{what}[{i}]") for i, item in enumerate(value)]
        if isinstance(value, core.tuple):
            fields = getattr(value, "_fields", None)
            return {"kernel_tuple": [fields and list(fields), items]}
        if hasattr(value, "_fields"):
            return {"named_tuple": [self.value(type(value), what), items]}
        if type(value) not in (tuple, list):
            kind = f"{type(value).__module__}.{type(value).__qualname__}"
            raise LaunchFileError(f"{what} is a {kind}; {_HOLDS}")
        return {type(value).__name__: items}

    def _attributes(self, values: dict[str, Any], what: str) -> list[Any]:
        return [[name, self.value(value, f"{what}.{name}")] for name, value in values.items()]

    # -- code -------------------------------------------------------------------------------------

    def _code(self, value: Any, what: str) -> Any:
        """A function or a class; None for anything else."""
        while isinstance(value, Wrapper):  # autotune, heuristics
            value = value.fn
        is_function = isinstance(value, KernelFunction | ConstexprFunction | types.FunctionType)
        is_class = inspect.isclass(value)
        if (is_function or is_class or callable(value)) and (path := _path_to(value)):
            return {"of_module": path}
        if type(value).__module__ == "torch" and type(value).__name__ == "dtype":
            return {"of_module": ["torch", str(value).rpartition(".")[2]]}
        if is_class and hasattr(value, "_field_defaults") and not _is_written(value):
            defaults = {k: self.value(v, what) for k, v in value._field_defaults.items()}
            return {"tuple_class": [value.__name__, list(value._fields), list(defaults.items())]}
        if is_function:
            return {"code": self.function(value, what)}
        if is_class:
            return {"code": self._class(value, what)}
        inner = getattr(value, "__wrapped__", None)
        if isinstance(inner, types.FunctionType):  # functools.cache and the like
            return {"code": self.function(inner, what)}
        return None

    def _begin(self, value: Any) -> int | None:
        """The number of what is taken along already; else None, and it has the next one."""
        known = self._numbers.get(id(value))
        if known is None:
            self._numbers[id(value)] = len(self.rows)
            self._kept.append(value)
            self.rows.append({})
        return known

    def function(self, fn: Any, what: str = "") -> int:
        """Take a function along; gives its number.

        Errors: LaunchFileError for one without a source, or that uses what cannot be kept.
        """
        known = self._begin(fn)
        if known is not None:
            return known
        number = len(self.rows) - 1
        try:
            self.rows[number].update(self._ir(fn) if isinstance(fn, IRFunction) else
                                     self._function(fn))  # fmt: skip
        except BaseException:
            self._forget_from(number)
            raise
        return number

    def _forget_from(self, number: int) -> None:
        """What was taken along for something that cannot be kept."""
        del self.rows[number:]
        self._numbers = {key: row for key, row in self._numbers.items() if row < number}

    def _ir(self, fn: IRFunction) -> dict[str, Any]:
        return {"kind": "ir", "name": fn.__name__, "file": fn.path, "text": fn.block_ir}

    def _function(self, fn: Any) -> dict[str, Any]:
        python = getattr(fn, "fn", fn)
        name = python.__name__
        try:
            source = getattr(fn, "function_source", None) or FunctionSource(python)
            tree = source.tree
        except (SourceNotFound, OSError) as error:
            raise LaunchFileError(f"function '{name}': {error}") from None
        except (TypeError, SyntaxError) as error:
            raise LaunchFileError(
                f"function '{name}' is none that is written with 'def': {error}"
            ) from None
        row: dict[str, Any] = {
            "kind": "jit" if isinstance(fn, KernelFunction) else
                    "constexpr_function" if isinstance(fn, ConstexprFunction) else "python",
            "name": name,
            "qualified_name": python.__qualname__,
            "module": python.__module__ or "__main__",
            "text": source._whole,
            "line": source.first_line,
            "file": self._place(source.file, source.first_line, source._whole),
        }  # fmt: skip
        of = f"of function '{name}'"
        row["defaults"] = [self.value(v, f"a default {of}") for v in python.__defaults__ or ()]
        row["keyword_defaults"] = self._attributes(python.__kwdefaults__ or {}, f"a default {of}")
        if isinstance(fn, KernelFunction):
            row["annotations"] = {p.name: p.annotation for p in fn.params if p.annotation}
            row["options"] = _options(fn)
        row["globals"], row["closure"], row["constants"] = self._names(python, tree)
        return row

    def _names(
        self, python: types.FunctionType, tree: ast.FunctionDef
    ) -> tuple[list[Any], list[Any], list[str]]:
        """What the body reads from outside: of the module, of the functions around it, and which of
        the first its module annotates as constants."""
        own = own_names(tree)
        paths: dict[str, list[list[str]]] = {}
        for name, path in dotted_names(tree.body):
            if name not in own:
                paths.setdefault(name, []).append(path)
        for name in python.__code__.co_freevars:
            paths.setdefault(name, [[]])
        of_module: list[Any] = []
        closure: list[Any] = []
        constants: list[str] = []
        for name, used in sorted(paths.items()):
            value, where = globals_rule.find(python, name)
            if where in (None, "builtin"):
                continue
            kept = self._used(value, used, f"'{name}', which '{python.__name__}' uses,")
            (closure if where == "closure" else of_module).append([name, kept])
            if where == "global" and module_annotations.is_constexpr(python, name):
                constants.append(name)
        return of_module, closure, constants

    def _used(self, value: Any, paths: list[list[str]], what: str) -> Any:
        """A value as far as these attributes of it are used."""
        if not isinstance(value, types.ModuleType) or _is_known(value.__name__):
            return self.value(value, what)
        inner: dict[str, list[list[str]]] = {}
        for path in paths:
            if path:
                inner.setdefault(path[0], []).append(path[1:])
        attributes = [
            [name, self._used(getattr(value, name), rest, f"{what} .{name}")]
            for name, rest in sorted(inner.items())
            if hasattr(value, name)
        ]
        return {"namespace": [value.__name__, attributes]}

    def _class(self, cls: type, what: str) -> int:
        known = self._begin(cls)
        if known is not None:
            return known
        number = len(self.rows) - 1
        try:
            self.rows[number].update(self._class_row(cls))
        except (OSError, TypeError, SyntaxError) as error:
            self._forget_from(number)
            raise LaunchFileError(f"{what} is the class '{cls.__name__}': {error}") from None
        except BaseException:
            self._forget_from(number)
            raise
        return number

    def _class_row(self, cls: type) -> dict[str, Any]:
        lines, first = inspect.getsourcelines(cls)
        text = "".join(lines)
        under = "if 1:\n" if text[:1] in " \t" else ""
        tree = ast.parse(under + text)
        around = _surroundings(cls)
        paths: dict[str, list[list[str]]] = {}
        for name, path in dotted_names([tree]):
            paths.setdefault(name, []).append(path)
        names = [
            [name, self._used(around[name], used, f"'{name}', which '{cls.__name__}' uses,")]
            for name, used in sorted(paths.items())
            if name in around and around[name] is not cls
        ]
        file = inspect.getsourcefile(cls) or "?"
        return {
            "kind": "class",
            "name": cls.__name__,
            "qualified_name": cls.__qualname__,
            "module": cls.__module__,
            "text": text,
            "line": first,
            "file": self._place(file, first, text),
            "globals": names,
        }

    # -- sources ----------------------------------------------------------------------------------

    def _place(self, file: str, first: int, text: str) -> str:
        """Keep the lines of a file; gives the name under which they are kept, which is another one
        where a function of the same file has other text there."""
        wanted = {first + i: line for i, line in enumerate(text.splitlines())}
        name, number = file, 1
        while True:
            kept = self.lines.setdefault(name, {})
            if all(kept.get(line, text) == text for line, text in wanted.items()):
                kept.update(wanted)
                return name
            number += 1
            name = f"{file} ({number})"

    def line(self, file: str, number: int, text: str) -> None:
        """Keep a line of a script, which a report may show."""
        self.lines.setdefault(file, {}).setdefault(number, text)


def _options(fn: Any) -> dict[str, Any]:
    """What ``@jit`` was given, as far as it changes a launch."""
    given = {
        "do_not_specialize": list(fn.do_not_specialize or ()),
        "do_not_specialize_on_alignment": list(
            getattr(fn, "do_not_specialize_on_alignment", None) or ()
        ),
        "debug": getattr(fn, "debug", None),
        "noinline": getattr(fn, "noinline", None),
        "steps_always": bool(getattr(fn, "steps_always", False)),
    }
    return {name: value for name, value in given.items() if value not in (None, [], False)}


def _is_known(module: str) -> bool:
    package = module.partition(".")[0]
    return package in _KNOWN or (package in sys.stdlib_module_names and package != "__main__")


def _module_name(module: types.ModuleType, what: str) -> str:
    name = module.__name__
    for candidate in (name, *(k for k, v in list(sys.modules.items()) if v is module)):
        if sys.modules.get(candidate) is module:
            return candidate
    raise LaunchFileError(f"{what} is the module '{name}', which cannot be imported by its name")


def _path_to(value: Any) -> list[str] | None:
    """The module and the name under which a known package has a value."""
    module = getattr(value, "__module__", None) or ""
    short = str(getattr(value, "__name__", ""))
    name = str(getattr(value, "__qualname__", None) or short)
    if module == "builtins" and getattr(builtins, name, None) is value:
        return ["builtins", name]
    if not isinstance(module, str) or not _is_known(module):
        return None
    candidates = [(module, name), (module, short), ("blockscope.language", short)]
    for place, path in candidates:
        try:
            found: Any = importlib.import_module(place)
            for part in path.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError):
            continue
        if found is value:
            return [place, path]
    return None


def _is_written(cls: type) -> bool:
    """Whether a class has a ``class`` statement, unlike what ``collections.namedtuple`` makes."""
    try:
        inspect.getsourcelines(cls)
    except (OSError, TypeError):
        return False
    return True


def _surroundings(cls: type) -> dict[str, Any]:
    """What the names in a class mean: of its module, and of the functions around its methods."""
    module = sys.modules.get(cls.__module__)
    found = dict(vars(module)) if module is not None else {}
    for method in vars(cls).values():
        python = getattr(method, "fn", method)
        if isinstance(python, types.FunctionType):
            found = {**python.__globals__, **found}
            for name, cell in zip(
                python.__code__.co_freevars, python.__closure__ or (), strict=False
            ):
                if name != "__class__":
                    found[name] = cell.cell_contents
    return found
