"""Writes a kernel as a file that runs by itself and shows in which elements the modes differ."""

from __future__ import annotations

import inspect

from random_kernels import data, modes
from random_kernels.prelude import prelude
from random_kernels.tree import Kernel

_HEAD = '''"""{title}

Run it with the Python of ./dev build."""

from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import triton
import triton.language as tl
from triton import set_interpret_mode
from triton.language.extra import libdevice

'''

_TAIL = """

def arguments():
    return [
{tensors}
    ], [{scalars}]


def left_by(mode):
    tensors, numbers = arguments()
    set_interpret_mode(mode == "steps")
    {name}[{grid}](*tensors, *numbers)
    return tensors


if __name__ == "__main__":
    for name, one, other in zip({names}, left_by("whole"), left_by("steps")):
        print(name, "whole kernel:", one[:64], "step by step:", other[:64], sep="\\n")
{expected}"""


def reproducer(kernel: Kernel, title: str) -> str:
    """The text of the file."""
    tensors = "\n".join(
        f"        data({_dtype(b)}, {b.count}, {b.style!r}, {b.seed}),  # {b.name}"
        for b in kernel.buffers
    )
    expected = ""
    if kernel.level < 2:
        try:
            left = modes.in_numpy(kernel, None)
            for buffer in kernel.buffers:
                if buffer.name[0] not in "xy":
                    text = repr(left[buffer.name][:64]).replace("\n", " ")
                    expected += f"    # {buffer.name} in NumPy: {text}\n"
        except Exception as error:
            expected = f"    # NumPy fails: {error}\n"
    source = kernel.source()
    return (
        _HEAD.format(title=title.replace("\\", "\\\\"))
        + inspect.getsource(data.data) + prelude(source) + "\n\n" + source
        + _TAIL.format(
            tensors=tensors, name=kernel.name, grid=kernel.grid, expected=expected,
            scalars=", ".join(map(str, modes.scalars(kernel))),
            names=[b.name for b in kernel.buffers],
        )
    )  # fmt: skip


def _dtype(buffer: object) -> str:
    name = buffer.dtype.numpy.name  # type: ignore[attr-defined]
    return f"ml_dtypes.{name}" if "float8" in name or name == "bfloat16" else f'"{name}"'
