"""Kernels that run a row of the table: load the operands, call the row's function, store."""

from __future__ import annotations

from typing import Any

import blockscope
import blockscope.language as tl
import numpy as np
from blockscope.language.core import builtin


@blockscope.jit
def apply1(x, out0, out1, CALL: tl.constexpr, SHAPES: tl.constexpr):
    a = read_block(x, SHAPES[0])
    write_results(CALL(a), out0, out1)


@blockscope.jit
def apply2(x, y, out0, out1, CALL: tl.constexpr, SHAPES: tl.constexpr):
    a = read_block(x, SHAPES[0])
    b = read_block(y, SHAPES[1])
    write_results(CALL(a, b), out0, out1)


@blockscope.jit
def apply3(x, y, z, out0, out1, CALL: tl.constexpr, SHAPES: tl.constexpr):
    a = read_block(x, SHAPES[0])
    b = read_block(y, SHAPES[1])
    c = read_block(z, SHAPES[2])
    write_results(CALL(a, b, c), out0, out1)


@builtin
def read_block(pointer: Any, shape: Any) -> Any:
    sizes = [int(size) for size in shape]
    count = int(np.prod(sizes))
    return tl.reshape(tl.load(pointer + tl.arange(0, count)), sizes)


@builtin
def write_results(results: Any, *outs: Any) -> None:
    """Store each result as it is; it must have the dtype and number of elements that NumPy has."""
    if isinstance(results, tl.tensor):
        results = (results,)
    for result, out in zip(results, outs):
        expected, found = out.dtype.element_ty, result.dtype
        assert found == expected, f"result is {found}, expected {expected}"
        count = result.numel.value
        tl.store(out + tl.arange(0, count), tl.reshape(result, [count]))


KERNELS = {1: apply1, 2: apply2, 3: apply3}
