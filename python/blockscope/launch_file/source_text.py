"""The recorded code of a kernel as the text of one file that stands alone."""

from __future__ import annotations

import ast
import math
import textwrap
from collections.abc import Iterator
from typing import Any

from blockscope.errors import LaunchFileError
from blockscope.launch_file.contents import File
from blockscope.launch_file.fields import Field

_LANGUAGE = "blockscope.language"


def constant_text(value: Any) -> str:
    """A number, a text or None as Python."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)


def text_of(value: Field, file: File, what: str) -> str:
    """A recorded value as Python. Errors: LaunchFileError for one that no short text makes."""
    data = value.value
    if data is None or isinstance(data, bool | int | float | str):
        return constant_text(data)
    if not isinstance(data, dict) or len(data) != 1:
        raise value.wrong("a value")
    (kind,) = data
    inner = value[kind]
    if kind == "float":
        return f'float("{inner.text()}")'
    if kind == "constexpr":
        return f"tl.constexpr({text_of(inner, file, what)})"
    if kind == "dtype":
        return f"tl.{_LONG.get(inner.text(), inner.text())}"
    if kind == "pointer":
        return f"tl.pointer_type({text_of(inner.items(3, 3)[0], file, what)})"
    if kind in ("tuple", "list"):
        items = [text_of(item, file, what) for item in inner.items()]
        if kind == "list":
            return f"[{', '.join(items)}]"
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    if kind == "dict":
        pairs = [[text_of(part, file, what) for part in pair.items(2, 2)] for pair in inner.items()]
        return f"{{{', '.join(f'{key}: {item}' for key, item in pairs)}}}"
    if kind == "code":
        return file.functions[inner.number(0, len(file.functions) - 1)]["name"].text()
    if kind == "member":
        cls, name = inner.items(2, 2)
        return f"{text_of(cls, file, what)}.{name.text()}"
    if kind == "of_module":
        module, path = inner.items(2, 2)
        return f"{_outside(module.text())}.{path.text()}"
    raise LaunchFileError(f"{what} is a {kind.replace('_', ' ')}, which no short text makes")


_LONG = {
    "fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64",
    "fp8e5": "float8e5", "fp8e5b16": "float8e5b16", "fp8e4nv": "float8e4nv",
    "fp8e4b8": "float8e4b8", "fp8e4b15": "float8e4b15",
}  # fmt: skip


def _outside(module: str) -> str:
    """The module under Triton's name."""
    if module.startswith(f"{_LANGUAGE}.extra") or module == _LANGUAGE:
        return "triton" + module.removeprefix("blockscope")
    if module.startswith(_LANGUAGE):  # where our own files are
        return "triton.language"
    return "triton" if module == "blockscope" else module


class SourceText:
    """The text of all functions and classes that a kernel uses, with what they read."""

    def __init__(self, file: File, kernel: Field) -> None:
        self._file = file
        self.imports = {"triton": "import triton", "tl": "import triton.language as tl"}
        self._constants: dict[str, str] = {}
        self._definitions: list[str] = []
        self._seen: set[int] = set()
        self._follow(kernel)
        self.name = self._row(kernel)["name"].text()

    def text(self) -> list[str]:
        """The lines of constants and definitions."""
        lines = list(self._constants.values())
        for each in self._definitions:
            lines += ["", "", *each.splitlines()]
        return lines

    def also(self, value: Field) -> None:
        """Take along what an argument names."""
        for code in _codes_in(value):
            self._follow(code)

    def _row(self, number: Field) -> Field:
        return self._file.functions[number.number(0, len(self._file.functions) - 1)]

    def _follow(self, number: Field) -> None:
        if number.value in self._seen:
            return
        row = self._row(number)
        self._seen.add(number.value)
        kind, name = row["kind"].text(), row["name"].text()
        if kind == "ir":
            raise LaunchFileError(f"kernel '{name}' is block IR, which cannot be reduced")
        names = [pair.items(2, 2) for pair in row["globals"].items()]
        closure = [] if kind == "class" else [pair.items(2, 2) for pair in row["closure"].items()]
        constants = set() if kind == "class" else {n.text() for n in row["constants"].items()}
        for each, value in names:
            self._name(each.text(), value, name, is_constant=each.text() in constants)
        for each, value in closure:
            self._name(each.text(), value, name, is_constant=kind == "jit")
        text = textwrap.dedent(row["text"].text()).rstrip("\n")
        self._definitions.append(text if kind == "class" else self._decorated(text, row, kind))

    def _decorated(self, text: str, row: Field, kind: str) -> str:
        tree = ast.parse(text).body[0]
        assert isinstance(tree, ast.FunctionDef)
        body = "\n".join(text.splitlines()[tree.lineno - 1 :])
        if kind == "python":
            return body
        if kind == "constexpr_function":
            return f"@triton.constexpr_function\n{body}"
        options = [
            f"{name}={value.value!r}"
            for name, value in row["options"].named()
            if name != "steps_always"
        ]
        return f"@triton.jit{f'({chr(44).join(options)})' if options else ''}\n{body}"

    def _name(self, name: str, value: Field, user: str, *, is_constant: bool) -> None:
        data = value.value
        kind = next(iter(data)) if isinstance(data, dict) and len(data) == 1 else ""
        inner = value[kind] if kind else value
        if kind == "module":
            module = _outside(inner.text())
            short = f"import {module}" if module == name else f"import {module} as {name}"
            self._define(self.imports, name, short)
            return
        if kind == "of_module":
            module, path = (part.text() for part in inner.items(2, 2))
            if module == "builtins":
                return
            renamed = "" if path == name else f" as {name}"
            self._define(self.imports, name, f"from {_outside(module)} import {path}{renamed}")
            return
        if kind == "namespace":
            self._namespace(name, inner, user)
            return
        for code in _codes_in(value):
            self._follow(code)
        if kind == "code":
            own = self._row(inner)["name"].text()
            if own != name:
                self._define(self._constants, name, f"{name} = {own}")
            return
        text = text_of(value, self._file, f"'{name}', which '{user}' uses,")
        if is_constant and kind in ("", "tuple", "float") and data is not None:
            text = f"tl.constexpr({text})"
        self._define(self._constants, name, f"{name} = {text}")

    def _namespace(self, name: str, inner: Field, user: str) -> None:
        """A module of the project as a class with what is used of it."""
        lines = [f"class {name}:"]
        for pair in inner.items(2, 2)[1].items():
            attribute, value = pair.items(2, 2)
            for code in _codes_in(value):
                self._follow(code)
            lines.append(f"    {attribute.text()} = {text_of(value, self._file, f'{name!r}')}")
        self._definitions.append("\n".join(lines))

    def _define(self, where: dict[str, str], name: str, text: str) -> None:
        if where.setdefault(name, text) != text:
            raise LaunchFileError(
                f"two functions have different things under the name '{name}', which one file "
                f"cannot have: '{where[name]}' and '{text}'"
            )


def _codes_in(value: Field) -> Iterator[Field]:
    """The functions and classes that a value names."""
    data = value.value
    if isinstance(data, list):
        for item in value.items():
            yield from _codes_in(item)
    elif isinstance(data, dict):
        for kind, inner in value.named():
            if kind == "code":
                yield inner
            else:
                yield from _codes_in(inner)
