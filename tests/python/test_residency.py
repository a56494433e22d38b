"""How many programs a GPU holds at a time, where those of a launch wait for one another."""

import sys

import blockscope
import blockscope as triton
import blockscope.language as tl
import gpu_rows
import numpy as np
import pytest
from blockscope.errors import CompilationError
from blockscope.runtime.backends.cuda import compile as gpu_compile


@triton.jit
def meet(x_ptr, arrived_ptr, out_ptr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * BLOCK + i)
    tl.atomic_add(arrived_ptr, 1)
    while tl.atomic_add(arrived_ptr, 0) < tl.num_programs(0):
        pass
    tl.store(out_ptr + row * BLOCK + i, x * 2)


def found(programs, block, warps):
    x = np.ones((programs, block), np.float32)
    out, arrived = np.zeros_like(x), np.zeros(1, np.int32)
    with blockscope.check("asan") as report:
        meet[(programs,)](x, arrived, out, block, num_warps=warps)
    assert (out == 2).all()
    return [finding.message for finding in report.findings]


@pytest.mark.skipif(not gpu_rows.has_tools(), reason="ptxas is not installed (nvidia-cuda-nvcc)")
def test_registers_count():
    assert found(140, 128, 4) == []
    (said,) = found(140, 32768, 32)
    assert "132 programs wait" in said and "limited by its registers" in said


def test_where_a_kernel_cannot_be_compiled_warps_count(monkeypatch):
    def refuse(*_):
        raise CompilationError("no ptxas")

    monkeypatch.setattr(gpu_compile, "held_by_multiprocessor", refuse)
    assert found(140, 32768, 32) == []
    (said,) = found(270, 1024, 32)
    assert said.endswith("264 programs wait, as many as an H100 or H200 holds at a time")


def test_an_error_of_the_compiler_does_not_end_the_launch(monkeypatch):
    said = []

    def fail(*_):
        raise RuntimeError("planted")

    monkeypatch.setattr(sys, "unraisablehook", lambda error: said.append(str(error.exc_value)))
    monkeypatch.setattr(gpu_compile, "held_by_multiprocessor", fail)
    assert found(140, 32768, 32) == [] and said == ["planted"]
