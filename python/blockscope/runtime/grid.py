"""The grid of a launch: how many programs there are along each axis."""

from __future__ import annotations

from typing import Any

from blockscope.runtime.options import LAUNCH_DEFAULTS

Grid = tuple[int, int, int]


def size_of(fn: Any, grid: Any, bound: dict[str, Any], options: dict[str, Any]) -> Grid | None:
    """What ``fn[grid]`` means for these arguments; None for None.

    Errors: TypeError or ValueError that name the kernel.
    """
    if callable(grid):
        grid = grid({**LAUNCH_DEFAULTS, **options, **bound})
    if grid is None:
        return None
    if isinstance(grid, int):
        grid = (grid,)
    sizes = [_size(fn, axis, size) for axis, size in enumerate(grid)]
    if not sizes or any(size != 1 for size in sizes[3:]):
        raise ValueError(
            f"kernel '{fn.__name__}': grid {tuple(grid)} has {len(sizes)} dimensions, expected 1 "
            "to 3, or ones behind them"
        )
    return tuple([*sizes, 1, 1][:3])  # type: ignore[return-value]


def _size(fn: Any, axis: int, size: Any) -> int:
    if isinstance(size, bool) or not hasattr(size, "__index__"):
        raise TypeError(
            f"kernel '{fn.__name__}': grid dimension {axis} is {size!r} "
            f"({type(size).__name__}), expected an int"
        )
    size = int(size)
    if size < 0 or size > 2**31 - 1:
        raise ValueError(
            f"kernel '{fn.__name__}': grid dimension {axis} is {size}, expected 0 to 2147483647"
        )
    return size
