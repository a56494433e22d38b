"""Python's syntax and builtins in kernels: whole, step by step with and without a source, and on a
machine for PTX. Each kernel takes ``out`` and ``n``, which is 5, and stores an integer.
"""

from __future__ import annotations

import inspect
from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import machine_backend
import pytest
import torch
from machine_backend import MachineBackend, storage_of

CASES: dict[str, tuple[Any, int]] = {}


def gives(expected: int) -> Any:
    def add(function: Any) -> Any:
        kernel = triton.jit(function)
        CASES[kernel.__name__] = kernel, expected
        return kernel

    return add


# -- kernels --------------------------------------------------------------------------------------


@gives(7)
def shapes_equal_lists_and_tuples(out, n):
    block = tl.full((4, 2), 7, tl.int32)
    scalar = tl.full((), 7, tl.int32)
    tl.static_assert(block.shape == [4, 2])
    tl.static_assert(block.shape == (4, 2))
    tl.static_assert([4, 2] == block.shape)
    tl.static_assert(block.shape != [4, 4])
    tl.static_assert(scalar.shape == [])
    tl.static_assert(len(block.shape[:1] + [1, 3]) == 3)
    tl.store(out, tl.max(block))


@gives(6)
def names_by_text(out, n, NAME: tl.constexpr = "maximum"):
    tl.static_assert(hasattr(tl, NAME))
    tl.static_assert(not hasattr(tl, "no such name"))
    tl.store(out, getattr(tl, NAME)(n, getattr(tl, "no such name", 6)))


@gives(3)
def rounds_a_constant(out, n, SCALE: tl.constexpr = 2.6):
    tl.store(out, round(SCALE))


# -- in all modes ---------------------------------------------------------------------------------


def launched(kernel: Any) -> int:
    out = torch.zeros(1, dtype=torch.int32)
    kernel[(1,)](out, 5)
    return int(out.item())


def test_there_are_kernels() -> None:
    assert len(CASES) >= 3


@pytest.mark.parametrize("steps", [False, True], ids=["whole", "step"])
@pytest.mark.parametrize("name", CASES)
def test_on_the_cpu(name: str, steps: bool) -> None:
    kernel, expected = CASES[name]
    triton.set_interpret_mode(steps)
    try:
        assert launched(kernel) == expected
    finally:
        triton.set_interpret_mode(False)


@pytest.mark.parametrize("name", CASES)
def test_step_by_step_without_a_source(name: str) -> None:
    kernel, expected = CASES[name]
    names = {**globals(), "gives": lambda _: triton.jit}
    exec(inspect.getsource(kernel.fn), names)
    triton.set_interpret_mode(True)
    try:
        assert launched(names[name]) == expected
    finally:
        triton.set_interpret_mode(False)


@pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)
@pytest.mark.parametrize("name", CASES)
def test_ptx(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import ptx_matrix_machine

    def run(compiled: Any, grid: Any, values: list[Any]) -> None:
        compiled = gpu_rows.as_launched(compiled, values)
        machine = ptx_matrix_machine.Machine(compiled.asm["ptx"], compiled.metadata.num_warps)
        machine.run(grid, [storage_of(value) for value in values], compiled.metadata.shared)

    machine_backend.use(monkeypatch, MachineBackend("sm_90a", run))
    kernel, expected = CASES[name]
    assert launched(kernel) == expected
