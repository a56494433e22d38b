"""Runs a kernel in each way that there is, and says where two of them differ."""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import blockscope
import blockscope.language as tl
import numpy as np
from blockscope import checks, knobs

from random_kernels.data import data
from random_kernels.prelude import prelude
from random_kernels.tree import Kernel

Memory = dict[str, Any]


@dataclass
class Problem:
    """What two ways of running a kernel disagree about, or what one of them raised."""

    mode: str
    text: str

    @property
    def cause(self) -> tuple[str, str]:
        """What stays the same while a kernel is cut down."""
        first = self.text.split("\n", 1)[0]
        if " differs in " in first:
            return self.mode, "differs"
        return self.mode, re.sub(r"'[^']*'|\d+", "", first)[:120]


def loaded(kernel: Kernel) -> Any:
    """The kernel as Python has it."""
    name = f"<random {kernel.name} {id(kernel)}>"
    source = kernel.source()
    text = prelude(source) + "\n\n" + source
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space: dict[str, Any] = {
        "triton": blockscope, "tl": tl, "__name__": name, "Any": Any, "NamedTuple": NamedTuple,
        "libdevice": tl.extra.cuda.libdevice,
    }  # fmt: skip
    exec(compile(text, name, "exec"), space)
    return space[kernel.name]


def memory(kernel: Kernel) -> Memory:
    """What the tensors hold at first."""
    with np.errstate(all="ignore"):
        return {b.name: data(b.dtype.numpy, b.count, b.style, b.seed) for b in kernel.buffers}


def scalars(kernel: Kernel) -> list[Any]:
    return [*(value.item() for value in kernel.scalars.values()), *kernel.constants.values()]


def in_numpy(kernel: Kernel, function: Any) -> Memory:
    left = memory(kernel)
    kernel.run(left)
    return left


def whole(threads: int) -> Callable[..., Memory]:
    def run(kernel: Kernel, function: Any) -> Memory:
        left = memory(kernel)
        with knobs.cpu.scope():
            knobs.cpu.num_threads = threads
            function[kernel.grid](*left.values(), *scalars(kernel))
        return left

    return run


def stepped(kernel: Kernel, function: Any) -> Memory:
    left = memory(kernel)
    blockscope.set_interpret_mode(True)
    try:
        function[kernel.grid](*left.values(), *scalars(kernel))
    finally:
        blockscope.set_interpret_mode(False)
    return left


#: Random arithmetic does make infinities and NaNs of numbers, and integers that wrap or have no
#: value; random masks leave holes in outputs; a report tells of right kernels, too.
SILENT_CHECKS = [
    row["name"]
    for row in checks.table()
    if row["name"] and not row["is_report"]
    and row["name"] not in ("arith", "nan", "outputs", "overflow")
]  # fmt: skip


def checked(kernel: Kernel, function: Any) -> Memory:
    left = memory(kernel)
    with blockscope.check(SILENT_CHECKS) as report:
        function[kernel.grid](*left.values(), *scalars(kernel))
    if report.findings:
        raise AssertionError(f"{len(report.findings)} findings, the first: {report.findings[0]}")
    return left


CPU_MODES: dict[str, Callable[..., Memory]] = {
    "one thread": whole(1), "two threads": whole(2), "steps": stepped, "checks": checked,
}  # fmt: skip


def differing(one: Any, other: Any) -> Any:
    """Where two arrays have other bits, NaNs aside."""
    if one.dtype.kind in "biu":
        return one != other
    bits = f"u{one.dtype.itemsize}"
    with np.errstate(all="ignore"):
        are_nan = np.isnan(one.astype(np.float64)) & np.isnan(other.astype(np.float64))
    return (one.view(bits) != other.view(bits)) & ~are_nan


def difference(expected: Memory, found: Memory, name: str) -> str | None:
    """The first difference in words."""
    for buffer, one in expected.items():
        wrong = differing(one, found[buffer])
        if wrong.any():
            place = int(np.flatnonzero(wrong)[0])
            return (
                f"{buffer} differs in {int(wrong.sum())} of {wrong.size} elements, first at "
                f"{place}: {found[buffer][place]!r}, {name} has {one[place]!r}"
            )
    return None


def bit_difference(expected: Memory, found: Memory, name: str) -> str | None:
    """The same for all bits, those of NaNs too."""
    as_integers = [
        {buffer: array.view(f"u{array.dtype.itemsize}") for buffer, array in memory.items()}
        for memory in (expected, found)
    ]
    return difference(*as_integers, name)


def attempt(run: Callable[..., Memory], kernel: Kernel, function: Any) -> Memory | str:
    try:
        return run(kernel, function)
    except Exception as error:
        return f"raised {type(error).__name__}: {error}"


def problem(kernel: Kernel, modes: dict[str, Callable[..., Memory]]) -> Problem | None:
    """The first disagreement of a mode with NumPy (levels 0 and 1) or with the first mode."""
    try:
        function = loaded(kernel)
    except Exception as error:
        return Problem("source", f"raised {type(error).__name__}: {error}")
    expected = in_numpy(kernel, function) if kernel.level < 2 else None
    name = "NumPy"
    for mode, run in modes.items():
        found = attempt(run, kernel, function)
        if isinstance(found, str):
            return Problem(mode, found)
        if expected is None:
            expected, name = found, mode
        elif text := difference(expected, found, name):
            return Problem(mode, text)
    return None
