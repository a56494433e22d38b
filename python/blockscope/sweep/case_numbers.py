"""The numbers of a case by their names: ``n``, ``x.shape[0]``."""

from __future__ import annotations

import re
from typing import Any

from blockscope.launch_file.case import Case

SHAPE = re.compile(r"(\w+)\.shape\[(\d+)\]")


def number_of(case: Case, name: str) -> Any:
    """An argument, a size or an option. Errors: ValueError for one that the case lacks."""
    if match := SHAPE.fullmatch(name):
        for tensor in case.tensors():
            if tensor.name == match[1] and int(match[2]) < len(tensor.shape):
                return tensor.shape[int(match[2])]
    for argument in case.arguments:
        if argument.name == name:
            return argument.value
    if name in case.options:
        text = case.options[name]
        return int(text) if text.isdigit() else text
    raise ValueError(
        f"'{case.kernel}' has no argument '{name}', it has "
        f"{', '.join(each.name for each in case.arguments)}"
    )


def sizes_of(case: Case) -> tuple[dict[str, int], dict[str, int]]:
    """What may say how large a grid is, by name: integer arguments, and dimensions of tensors that
    no argument has; then constexpr integers, which may be sizes of blocks."""
    whole = [a for a in case.arguments if type(a.value) is int and a.value > 1]
    numbers = {a.name: a.value for a in whole if not a.is_constexpr}
    for tensor in case.tensors():
        for axis, size in enumerate(tensor.shape):
            if size > 1 and size not in numbers.values():
                numbers[f"{tensor.name}.shape[{axis}]"] = size
    return numbers, {a.name: a.value for a in whole if a.is_constexpr}
