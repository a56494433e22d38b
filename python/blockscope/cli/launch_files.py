"""What launch files are, for the command line, and ``blockscope launches``.

Whether a file is one is asked by commands that do not need the extension module."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from blockscope.cli.usage import ending_unwritten

_HEAD = "launches.json"


def is_launch_file(path: str) -> bool:
    """Whether a file is meant as a launch file: by its name, or by what is in it."""
    if path.endswith(".blk"):
        return True
    if path.endswith((".py", ".pyz")) or not os.path.isfile(path):
        return False
    with suppress(OSError, ValueError, zipfile.BadZipFile), zipfile.ZipFile(path) as archive:
        return _HEAD in archive.namelist()
    return False


def say_what_is_in(file: Any, launches: Sequence[Any], *, has_source: bool) -> int:
    """Print the launches of a file, with their arguments."""
    with ending_unwritten():
        words = [f"{name} {_plain(text)}" for name, text in file.environment.items()]
        count = len(file.launches)
        print(f"{file.path}: {count} launch{'es' if count != 1 else ''}; {', '.join(words)}")
        for launch in launches:
            row = file.functions[launch.kernel.value]
            grid = ", ".join(map(str, launch.grid))
            place = row.get("line")
            line = f":{place.value}" if place is not None else ""
            stepped = ", step by step" if launch.is_stepped else ""
            print(
                f"\nlaunch {launch.number} of '{_plain(launch.kernel_name)}' at "
                f"{_plain(row['file'].text())}{line}, grid ({grid}){stepped}"
            )
            for name, value in launch.arguments:
                print(f"  {_plain(name)} = {_shown(value, launch)}")
            for name, value in launch.options:
                print(f"  option {_plain(name)} = {_shown(value, launch)}")
        if has_source:
            _print_sources(file, launches)
    return 0


def _print_sources(file: Any, launches: Sequence[Any]) -> None:
    for row in file.functions:
        line = row.get("line")
        where = f"{row['file'].text()}:{line.value}" if line is not None else row["file"].text()
        print(f"\n# {_plain(where)}")
        print("\n".join(_plain(text) for text in row["text"].text().splitlines()))


def _shown(value: Any, launch: Any) -> str:
    """A value as people write it."""
    data = value.value
    if isinstance(data, dict) and len(data) == 1:
        (kind,) = data
        inner = value[kind]
        tensor = launch.by_place.get(inner.place) if kind == "tensor" else None
        if tensor is not None:
            shape = "x".join(map(str, tensor.shape)) or "1"
            values = ""
            if tensor.least is not None:
                values = f", values {tensor.least:g} to {tensor.largest:g}, not kept"
            view = "" if not tensor.offset else f", {tensor.offset} bytes into its storage"
            return (
                f"{tensor.library} {tensor.dtype} [{shape}], strides {list(tensor.strides)}{view}, "
                f"in block {tensor.block}{values}"
            )
        if kind == "constexpr":
            return _shown(inner, launch)
        if kind in ("tuple", "list"):
            return f"({', '.join(_shown(item, launch) for item in inner.items())})"
        if kind == "dtype":
            return _plain(str(inner.value))
        if kind in ("kernel_tuple", "named_tuple"):
            names, items = inner.items(2, 2)
            fields = _field_names(names.value) or [""] * len(items.items())
            shown = [
                f"{name}={_shown(item, launch)}" if name else _shown(item, launch)
                for name, item in zip(fields, items.items(), strict=False)
            ]
            return f"({', '.join(shown)})"
        return f"a {_plain(kind.replace('_', ' '))}"
    return _plain(repr(data))


def _field_names(names: Any) -> list[str]:
    """Those of a tuple with names, where the file has them beside it."""
    if isinstance(names, list) and all(isinstance(name, str) for name in names):
        return [_plain(name) for name in names]
    return []


def _plain(text: str) -> str:
    """Text of a stranger without what a terminal would obey."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)
