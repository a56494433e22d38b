"""Reductions, scans, sorts, gathers, histograms, atomics and layout conversions, in many shapes and
numbers of warps, against NumPy. The same cases run without a GPU in test_gpu_machine.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import blockscope as triton
import blockscope.language as tl
import numpy as np
import pytest

gpu_cases = pytest.importorskip("gpu_cases")
torch = pytest.importorskip("torch")


@pytest.mark.parametrize("name", gpu_cases.ALL)
def test_case(name: str, device: str) -> None:
    def launch(kernel: Any, arguments: Sequence[Any], warps: int, constants: Any) -> None:
        tensors = [
            torch.from_numpy(value).to(device) if isinstance(value, np.ndarray) else value
            for value in arguments
        ]
        kernel[(1,)](*tensors, **constants, num_warps=warps)
        for tensor, value in zip(tensors, arguments):
            if isinstance(value, np.ndarray):
                value[...] = tensor.cpu().numpy()

    gpu_cases.ALL[name](launch)


@triton.jit
def lock_kernel(lock_ptr, data_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(data_ptr + offsets, tl.load(data_ptr + offsets) + 1)
    tl.atomic_xchg(lock_ptr, 0)


@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("count", [1, 32, 1024])
def test_lock_protects_all_threads(count: int, warps: int, device: str) -> None:
    lock = torch.zeros(1, dtype=torch.int32, device=device)
    data = torch.zeros(count, dtype=torch.int32, device=device)
    lock_kernel[(300,)](lock, data, count, num_warps=warps)
    assert data.eq(300).all()
    assert lock.item() == 0


@triton.jit
def last_program_kernel(x_ptr, partial_ptr, counter_ptr, out_ptr, N: tl.constexpr, G: tl.constexpr):
    program = tl.program_id(0)
    tl.store(partial_ptr + program, tl.sum(tl.load(x_ptr + program * N + tl.arange(0, N))))
    if tl.atomic_add(counter_ptr, 1) == G - 1:
        tl.store(out_ptr, tl.sum(tl.load(partial_ptr + tl.arange(0, G))))


@pytest.mark.parametrize("warps", [1, 4])
def test_last_program_sees_the_others(warps: int, device: str) -> None:
    x = torch.randint(0, 100, (256, 512), dtype=torch.int32, device=device)
    for _ in range(20):
        partial = torch.zeros(256, dtype=torch.int32, device=device)
        counter = torch.zeros(1, dtype=torch.int32, device=device)
        out = torch.zeros(1, dtype=torch.int32, device=device)
        last_program_kernel[(256,)](x, partial, counter, out, 512, 256, num_warps=warps)
        assert out.item() == x.sum().item()


@pytest.mark.parametrize("kind", ["add", "max", "min"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_contended_float_atomics(kind: str, dtype: Any, device: str) -> None:
    if kind != "add" and dtype.itemsize == 2:
        pytest.skip("the language has only sums of 16-bit floats")
    programs = 4 if dtype.itemsize == 2 else 64  # so that every partial sum is exact
    values = torch.randint(-4, 5, (programs, 256), device=device).to(dtype)
    target = torch.zeros(8, dtype=dtype, device=device)
    contended_kernel[(programs,)](target, values, getattr(tl, f"atomic_{kind}"), 256)
    flat = values.float().reshape(-1, 8)
    expected = {"add": flat.sum(0), "max": flat.amax(0).clamp(min=0),
                "min": flat.amin(0).clamp(max=0)}[kind]  # fmt: skip
    assert torch.equal(target.float(), expected)


@triton.jit
def contended_kernel(target_ptr, values_ptr, KIND: tl.constexpr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    values = tl.load(values_ptr + tl.program_id(0) * N + offsets)
    KIND(target_ptr + offsets % 8, values)


@pytest.mark.parametrize(
    ("kind", "there", "operand", "expected"),
    [
        ("max", float("nan"), 1.0, 1.0),
        ("max", 1.0, float("nan"), 1.0),
        ("min", float("nan"), float("nan"), float("nan")),
        ("max", -0.0, 0.0, -0.0),
        ("min", 0.0, -0.0, 0.0),
        ("max", -1.0, 2.0, 2.0),
        ("min", 3.0, -2.0, -2.0),
    ],
)
def test_float_extremes_as_on_the_cpu(kind, there, operand, expected, device: str) -> None:
    for where in ("cpu", device):
        target = torch.full((8,), there, device=where)
        values = torch.full((1, 8), operand, device=where)
        contended_kernel[(1,)](target, values, getattr(tl, f"atomic_{kind}"), 8)
        wanted = torch.full((8,), expected)
        assert torch.equal(target.cpu().nan_to_num(123.0), wanted.nan_to_num(123.0))
        assert torch.equal(target.cpu().signbit() & ~target.cpu().isnan(), wanted.signbit())
