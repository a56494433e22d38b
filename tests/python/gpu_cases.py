"""The cases of block_checks.py, for a GPU and for ptx_machine.py: (id, check) by family."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import block_checks as checks

WARPS = (1, 2, 4, 8)
_Check = Callable[[checks.Launch], None]


def _bind(function: Callable[..., None], *arguments: Any, **named: Any) -> tuple[str, _Check]:
    words = [function.__name__.removeprefix("check_"), *arguments, *named.values()]
    name = "-".join(
        "x".join(map(str, word)) if isinstance(word, tuple) else str(word) for word in words
    )
    return name, functools.partial(_swapped, function, arguments, named)


def _swapped(function: Any, arguments: Any, named: Any, launch: checks.Launch) -> None:
    function(launch, *arguments, **named)


def _all_reductions() -> Iterator[tuple[str, _Check]]:
    for warps in WARPS:
        for shape, axis in checks.AXES:
            for flip in (False, True) if len(shape) == 2 else (False,):
                yield _bind(checks.check_sum, shape, axis, "float32", warps, flip)
            yield _bind(checks.check_sum, shape, axis, "int64", warps, False)
            yield _bind(checks.check_extremes, shape, axis, warps)
        for dtype in ("int32", "uint32", "int64"):
            for count in (2, 32, 64, 1024):
                yield _bind(checks.check_integers, dtype, count, warps)
        for count in (16, 128, 512):
            yield _bind(checks.check_loop, count, warps)
    for shape, axis in ((4096,), 0), ((64, 64), 0), ((64, 64), 1), ((2048, 2), 0), ((8, 512), 1):
        # Lanes share the results of so many warps.
        yield _bind(checks.check_sum, shape, axis, "float32", 32, False)
        yield _bind(checks.check_sum, shape, axis, "int64", 32, False)
        yield _bind(checks.check_extremes, shape, axis, 32)


def _all_scans() -> Iterator[tuple[str, _Check]]:
    for warps in WARPS:
        for shape, axis in checks.AXES:
            for reverse in (False, True):
                for flip in (False, True) if len(shape) == 2 else (False,):
                    yield _bind(checks.check_cumsum, shape, axis, "int32", warps, reverse, flip)
                yield _bind(checks.check_ordered_scan, shape, axis, warps, reverse)
            yield _bind(checks.check_cumsum, shape, axis, "float64", warps, False, False)
        # Threads have many neighbours, several times.
        for shape, axis in (((2048,), 0), ((4096,), 0), ((4, 2048), 1), ((512, 8), 0)):
            for reverse in (False, True):
                yield _bind(checks.check_ordered_scan, shape, axis, warps, reverse)


def _all_sorts() -> Iterator[tuple[str, _Check]]:
    for warps in WARPS:
        for shape in checks.SHAPES:
            for descending in (False, True):
                yield _bind(checks.check_sort, shape, "int32", warps, descending, False)
        for dtype in ("bool", "int8", "uint8", "int16", "uint32", "int64", "uint64", "float16",
                      "float32", "float64"):  # fmt: skip
            yield _bind(checks.check_sort, (16, 32), dtype, warps, False, True)
            yield _bind(checks.check_sort, (256,), dtype, warps, True, False)
        for dtype in ("float16", "float32", "float64"):
            yield _bind(checks.check_sort_specials, dtype, warps)


def _all_gathers() -> Iterator[tuple[str, _Check]]:
    for warps in WARPS:
        for shape in [(1, 8), (16, 32), (64, 4), (128, 16)]:
            for axis in (0, 1):
                for length in (4, 64):
                    yield _bind(checks.check_gather, shape, axis, length, "float32", "int32", warps)
        for dtype in ("bool", "int8", "float16", "float64"):
            yield _bind(checks.check_gather, (16, 32), 1, 16, dtype, "int64", warps)
        for dtype in ("uint8", "int16", "int32", "int64"):
            for count, bins in [(16, 4), (256, 32), (1024, 512), (64, 1024)]:
                yield _bind(checks.check_histogram, count, bins, dtype, warps)


def _all_atomics() -> Iterator[tuple[str, _Check]]:
    for warps in (1, 4):
        for kind in checks.KINDS:
            for dtype in ("int32", "uint32", "int64", "uint64"):
                yield _bind(checks.check_atomic, kind, dtype, 256, warps)
        for kind in ("add", "max", "min", "xchg"):
            for dtype in ("float32", "float64"):
                for count in (16, 512):
                    yield _bind(checks.check_atomic, kind, dtype, count, warps)
        for kind in ("add", "max", "min", "or"):
            for keep in (True, False):
                yield _bind(checks.check_atomic, kind, "int32", 512, warps, keep=keep, spread=8)
        for kind in ("add", "max", "min"):
            yield _bind(checks.check_atomic, kind, "float32", 512, warps, keep=False, spread=8)
        yield _bind(checks.check_atomic, "add", "float16", 128, warps)
        for sem in ("relaxed", "acquire", "release"):
            for scope in ("cta", "gpu", "sys"):
                yield _bind(checks.check_atomic, "add", "int32", 64, warps, sem, scope)
        for count in (1, 64, 1024):
            yield _bind(checks.check_scalar_atomics, count, warps)
            yield _bind(checks.check_poll, count, warps)
        for dtype in ("bool", "int8", "int16", "float16", "int32", "float32", "int64"):
            yield _bind(checks.check_atomic_moves, dtype, 256, warps)
        for sem in ("relaxed", "release"):
            for scope in ("cta", "gpu", "sys"):
                yield _bind(checks.check_atomic_moves, "int32", 16, warps, sem, scope)
        for dtype in ("int16", "int32", "int64", "float32", "float64"):
            for count in (8, 256):
                yield _bind(checks.check_cas, dtype, count, warps)


def _all_conversions() -> Iterator[tuple[str, _Check]]:
    for warps in WARPS:
        for dtype in ("bool", "int8", "float16", "float32", "int64"):
            for shape in [(2, 4), (16, 16), (8, 128), (64, 64), (128, 128)]:
                yield _bind(checks.check_transpose, shape, dtype, warps)
        for shape in [(8, 8), (32, 64)]:
            yield _bind(checks.check_pointers, shape, warps)


CASES: dict[str, dict[str, _Check]] = {
    "reduce": dict(_all_reductions()),
    "scan": dict(_all_scans()),
    "sort": dict(_all_sorts()),
    "gather": dict(_all_gathers()),
    "atomics": dict(_all_atomics()),
    "conversions": dict(_all_conversions()),
}
ALL = {f"{family}:{name}": check for family in CASES for name, check in CASES[family].items()}
