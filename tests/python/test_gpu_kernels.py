"""Kernels as people write them: right on the CPU; compiled without a word from ptxas or a spill,
their PTX run by ptx_matrix_machine.py is right too.
"""

from __future__ import annotations

from typing import Any

import gpu_rows
import numpy as np
import pytest

torch = pytest.importorskip("torch")
from kernel_cases import CASES, Case  # noqa: E402

ARCHS = ("sm_90a", "sm_80")


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")


def test_there_are_kernels() -> None:
    assert len(CASES) >= 15


@pytest.mark.parametrize("name", CASES)
def test_cpu(name: str) -> None:
    case = CASES[name]
    arguments = case.clone()
    case.kernel[case.grid](*arguments, **case.constants)
    case.check(arguments)


def bits(value: Any) -> Any:
    """A tensor as an array; dtypes that NumPy lacks as integers of their width."""
    if value.dtype == torch.bfloat16:
        value = value.view(torch.int16)
    elif value.dtype.is_floating_point and value.element_size() == 1:
        value = value.view(torch.int8)
    return value.numpy()


def scalar(value: Any, size: int) -> Any:
    if isinstance(value, int):
        return np.int64(value) if size == 8 else np.int32(value)
    return np.float32(value)


def run_ptx(case: Case, compiled: Any, arguments: list[Any]) -> None:
    machine = pytest.importorskip("ptx_matrix_machine")
    program = machine.Machine(compiled.asm["ptx"], case.warps)
    taken = [value for value in arguments if torch.is_tensor(value) or value != 1]  # 1 is constant
    values = [
        bits(value) if torch.is_tensor(value) else scalar(value, size)
        for value, (_, size) in zip(taken, program.parameters, strict=True)
    ]
    program.run((*case.grid, 1, 1)[:3], values, compiled.metadata.shared)


@pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("name", CASES)
def test_ptx(name: str, arch: str) -> None:
    case = CASES[name]
    arguments = case.clone()
    compiled = case.kernel.warmup(
        *arguments, **case.constants, grid=case.grid, arch=arch, num_warps=case.warps,
        num_stages=case.stages,
    )  # fmt: skip
    assert compiled.warnings == []
    assert compiled.n_spills == 0
    run_ptx(case, compiled, arguments)
    case.check(arguments)
