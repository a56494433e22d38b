"""What a kernel was compiled for that the arguments of another launch are not."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterator
from typing import Any

from blockscope.frontend.kernel_function import KernelFunction
from blockscope.runtime.alignment import ALIGNMENT
from blockscope.runtime.ast_source import ASTSource, Path, constant_text

_INTEGER = re.compile(r"[iu](\d+)")
_NOTHING = object()


def false_claims(
    kept: ASTSource, launched: ASTSource, args: tuple[Any, ...]
) -> Iterator[tuple[str, str]]:
    """What ``kept`` says of an argument and what there is in its place, as texts, where that is not
    so for ``args``, for which ``launched`` was compiled: constants, types, multiples of 16 and
    numbers that are 1."""
    paths = [path for i, name in enumerate(kept.fn.arg_names) for path in _leaves(kept, name, (i,))]
    for path in paths:
        was = given = ""
        kind, now = _kind(kept, path), _kind(launched, path)
        value = _at(args, path)
        if path in kept.constants:
            is_it = path in launched.constants and constant_text(
                launched.constants[path]
            ) == constant_text(kept.constants[path])
            if not is_it:
                was, given = f"as {_shown(kept.constants[path])}", _given(launched, path, value)
        elif not _takes(kind, now, launched, path):
            was, given = f"of type {kind}", _given(launched, path, value)
        elif kept.is_one(path) and not _is_one(launched, path):
            was, given = "as 1", _given(launched, path, value)
        elif kept.is_aligned(path):
            number = value.data_ptr() if hasattr(value, "data_ptr") else value
            if isinstance(number, int) and number % ALIGNMENT:
                what = "an address" if hasattr(value, "data_ptr") else "a number"
                was = f"as a multiple of {ALIGNMENT}"
                given = f"{what} with remainder {number % ALIGNMENT}"
        if was:
            name = kept.fn.arg_names[path[0]] + "".join(f"[{i}]" for i in path[1:])
            yield f"'{name}' {was}", given


def _leaves(source: ASTSource, name: str, path: Path) -> Iterator[Path]:
    kind = source.signature.get(name)
    if isinstance(kind, tuple | list):
        yield from _parts(kind, path)
    else:
        yield path


def _parts(kinds: Any, path: Path) -> Iterator[Path]:
    for i, kind in enumerate(kinds):
        if isinstance(kind, tuple | list):
            yield from _parts(kind, (*path, i))
        else:
            yield (*path, i)


def _kind(source: ASTSource, path: Path) -> Any:
    kind = source.signature.get(source.fn.arg_names[path[0]])
    for i in path[1:]:
        if not isinstance(kind, tuple | list) or i >= len(kind):
            return None
        kind = kind[i]
    return kind


def _takes(kind: Any, now: Any, launched: ASTSource, path: Path) -> bool:
    """Whether what is ``now`` can be handed to a parameter of the type ``kind`` as it is: numbers
    are converted, if they fit."""
    if now == "constexpr":  # a number that is 1, or None
        return isinstance(launched.constants.get(path), int) and not str(kind).startswith("*")
    takes, has = _INTEGER.fullmatch(str(kind)), _INTEGER.fullmatch(str(now))
    if takes and has:
        return int(takes[1]) >= int(has[1])
    addressed = ("*", "tensordesc")
    return kind == now or not (str(kind).startswith(addressed) or str(now).startswith(addressed))


def _is_one(source: ASTSource, path: Path) -> bool:
    constant = source.constants.get(path)
    return source.is_one(path) or (constant == 1 and not isinstance(constant, bool))


def _at(args: tuple[Any, ...], path: Path) -> Any:
    """The argument, or a part of it; none where its default was taken."""
    value: Any = args
    for i in path:
        if not isinstance(value, tuple | list) or i >= len(value):
            return _NOTHING
        value = value[i]
    return value


def _given(launched: ASTSource, path: Path, value: Any) -> str:
    if path in launched.constants:
        return _shown(launched.constants[path])
    if isinstance(value, bool | int | float):
        return repr(value)
    return f"one of type {_kind(launched, path)}"


def _shown(constant: Any) -> str:
    if isinstance(constant, KernelFunction):
        return f"the function '{constant.__name__}'"
    return reprlib.repr(getattr(constant, "value", constant))
