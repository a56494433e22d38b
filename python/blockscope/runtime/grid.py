"""The grid of a launch: how many programs there are along each axis."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from blockscope.runtime.arguments import AskedArguments
from blockscope.runtime.options import LAUNCH_DEFAULTS

Grid = tuple[int, int, int]
_GPU_LIMITS = (2**31 - 1, 65535, 65535)


def size_of(fn: Any, grid: Any, bound: dict[str, Any], options: dict[str, Any]) -> Grid | None:
    """What ``fn[grid]`` means for these arguments; None for None.

    Errors: TypeError or ValueError that name the kernel.
    """
    if callable(grid):
        given = {**LAUNCH_DEFAULTS, **options, **bound}
        grid = grid(AskedArguments("the grid", fn, given))
    if grid is None:
        return None
    grid = _axes(fn, grid)
    sizes = [_size(fn, axis, size) for axis, size in enumerate(grid)]
    if not sizes or any(size != 1 for size in sizes[3:]):
        raise ValueError(
            f"kernel '{fn.__name__}': grid {tuple(grid)} has {len(sizes)} dimensions, expected 1 "
            "to 3, or ones behind them; make two of them one, which // and % of its "
            "tl.program_id take apart"
        )
    return tuple([*sizes, 1, 1][:3])  # type: ignore[return-value]


def missing(fn: Any, grid: Any) -> TypeError:
    """The error for a launch whose ``size_of`` is None."""
    what = "the function of the grid returned None" if callable(grid) else "'grid' is None"
    return TypeError(
        f"kernel '{fn.__name__}': {what}, expected an int, or a tuple or a list of ints"
    )


def beyond_gpus(grid: Grid) -> str:
    """What no GPU can launch of a grid: "grid dimension 1 is 70000, expected at most 65535 on a
    GPU"; empty where there is nothing."""
    for axis, (number, limit) in enumerate(zip(grid, _GPU_LIMITS, strict=True)):
        if number > limit:
            return f"grid dimension {axis} is {number}, expected at most {limit} on a GPU"
    return ""


def _axes(fn: Any, grid: Any) -> Any:
    if isinstance(grid, tuple | list):
        return grid
    if hasattr(grid, "__index__") and not getattr(grid, "shape", ()):
        return (grid,)
    is_sequence = hasattr(grid, "__getitem__") and hasattr(grid, "__len__")
    if not is_sequence or isinstance(grid, str | bytes | Mapping):
        raise TypeError(
            f"kernel '{fn.__name__}': grid is {grid!r} ({type(grid).__name__}), expected an int, "
            "or a tuple or a list of ints"
        )
    return grid


def _size(fn: Any, axis: int, size: Any) -> int:
    try:
        size = operator.index(size)  # a tensor of floats has the method, and refuses
    except TypeError:
        is_grid = callable(size) or isinstance(size, tuple | list)
        hint = "; leave out the tuple around it: kernel[grid], not kernel[(grid,)]"
        raise TypeError(
            f"kernel '{fn.__name__}': grid dimension {axis} is {size!r} "
            f"({type(size).__name__}), expected an int{hint if is_grid else ''}"
        ) from None
    if size < 0 or size > 2**31 - 1:
        raise ValueError(
            f"kernel '{fn.__name__}': grid dimension {axis} is {size}, expected 0 to 2147483647"
        )
    return size
