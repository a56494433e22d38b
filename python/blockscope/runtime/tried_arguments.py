"""Arguments of a kernel that ``autotune`` clears, or puts back, around the runs that it tries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any


def named(
    arguments: dict[str, Any], names: Iterable[str], option: str, kernel: str
) -> Iterator[tuple[str, Any]]:
    """The arguments of an option of ``autotune`` that are not None, by name.

    Errors: ValueError when the launch has no argument of one of the names.
    """
    for name in names:
        if name not in arguments:
            raise ValueError(
                f"autotune has '{name}' in '{option}', but '{kernel}' was launched without an "
                "argument of this name"
            )
        if arguments[name] is not None:
            yield name, arguments[name]


def fill_zero(tensor: Any) -> None:
    if hasattr(tensor, "zero_"):
        tensor.zero_()
    else:
        tensor[...] = 0


def clone(tensor: Any) -> Any:
    return tensor.clone() if hasattr(tensor, "clone") else tensor.copy()


def copy_into(tensor: Any, source: Any) -> None:
    if hasattr(tensor, "copy_"):
        tensor.copy_(source)
    else:
        tensor[...] = source
