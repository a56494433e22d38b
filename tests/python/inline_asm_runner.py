"""Runs a row of `inline_asm_cases` on a device."""

from __future__ import annotations

from typing import Any

import blockscope as triton
import blockscope.language as tl
import inline_asm_cases
import numpy as np
import pytest
from inline_asm_cases import COUNT, AsmCase

torch = pytest.importorskip("torch")

LANGUAGE = {
    "u8": tl.uint8, "u16": tl.uint16, "u32": tl.uint32, "u64": tl.uint64, "s8": tl.int8,
    "s16": tl.int16, "s32": tl.int32, "s64": tl.int64, "f16": tl.float16, "bf16": tl.bfloat16,
    "f32": tl.float32, "f64": tl.float64,
}  # fmt: skip


@triton.jit
def one(a, out, TEXT: tl.constexpr, REGISTERS: tl.constexpr, TYPE: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    args = [tl.load(a + i)]
    tl.store(out + i, tl.inline_asm_elementwise(TEXT, REGISTERS, args, TYPE, True, 1))


@triton.jit
def two(
    a, b, out, TEXT: tl.constexpr, REGISTERS: tl.constexpr, TYPE: tl.constexpr, N: tl.constexpr
):
    i = tl.arange(0, N)
    args = [tl.load(a + i), tl.load(b + i)]
    tl.store(out + i, tl.inline_asm_elementwise(TEXT, REGISTERS, args, TYPE, True, 1))


@triton.jit
def three(
    a, b, c, out, TEXT: tl.constexpr, REGISTERS: tl.constexpr, TYPE: tl.constexpr, N: tl.constexpr
):
    i = tl.arange(0, N)
    args = [tl.load(a + i), tl.load(b + i), tl.load(c + i)]
    tl.store(out + i, tl.inline_asm_elementwise(TEXT, REGISTERS, args, TYPE, True, 1))


@triton.jit
def four(
    a, b, c, d, out, TEXT: tl.constexpr, REGISTERS: tl.constexpr, TYPE: tl.constexpr,
    N: tl.constexpr,
):  # fmt: skip
    i = tl.arange(0, N)
    args = [tl.load(a + i), tl.load(b + i), tl.load(c + i), tl.load(d + i)]
    tl.store(out + i, tl.inline_asm_elementwise(TEXT, REGISTERS, args, TYPE, True, 1))


KERNELS = {1: one, 2: two, 3: three, 4: four}


def as_tensor(array: Any) -> Any:
    """Torch has no bfloat16 from NumPy."""
    if array.dtype == inline_asm_cases.DTYPES["bf16"]:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def as_array(tensor: Any, dtype: str) -> Any:
    if dtype == "bf16":
        return tensor.view(torch.int16).numpy().view(inline_asm_cases.DTYPES["bf16"])
    return tensor.numpy()


def run(case: AsmCase, device: str = "cpu") -> Any:
    tensors = [as_tensor(array.copy()).to(device) for array in inline_asm_cases.arguments(case)]
    out = as_tensor(np.zeros(COUNT, inline_asm_cases.DTYPES[case.result])).to(device)
    kernel = KERNELS[len(tensors)]
    kernel[(1,)](*tensors, out, case.text, case.constraints, LANGUAGE[case.result], COUNT)
    return as_array(out.cpu(), case.result)
