"""Loops over the steps of several tiles, without a GPU: run by ptx_matrix_machine.py."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import gpu_rows
import pytest

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
import test_flat_loops as flat  # noqa: E402

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)
ARCHS = pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
FORMS = pytest.mark.parametrize("form", flat.FORMS)


def copies_of(kernel: Any) -> int:
    plan: str = kernel.asm["plan"]
    return plan.count(": cp.async, ") + plan.count(": TMA, ")


@ARCHS
@FORMS
@pytest.mark.parametrize(
    ("shape", "width", "stages"),
    [
        ((16, 16, 16), 1, 3),  # one step
        ((16, 16, 16), 2, 2),  # a program without any
        ((40, 16, 16), 1, 4),  # a new tile in each step, the last one partial
        ((24, 40, 80), 2, 3),  # three tiles a program, of five steps
        ((40, 24, 48), 5, 2),
    ],
)
def test_flat_matmul(
    shape: Any, width: int, stages: int, form: str, arch: str, kernels: Any
) -> None:
    flat.run_flat_matmul(form, shape, width, stages, "cpu")
    assert copies_of(kernels[0]) == 2


@pytest.mark.parametrize("arch", ["sm_90a"])
@FORMS
def test_flat_matmul_of_warpgroups(form: str, arch: str, kernels: Any) -> None:
    flat.run_flat_matmul(form, (130, 200, 144), 2, 3, "cpu", (64, 64, 64), warps=4)
    assert copies_of(kernels[0]) == 2
    assert "wgmma" in kernels[0].asm["ptx"]


@pytest.mark.parametrize("arch", ["sm_90a"])
@pytest.mark.parametrize("form", ["pointers", "begun"])
def test_sums_that_begin_anew_are_not_selected_one_by_one(
    form: str, arch: str, kernels: Any
) -> None:
    flat.run_flat_matmul(form, (64, 128, 128), 1, 3, "cpu", (64, 64, 64), warps=4)
    code = kernels[0].asm["ttgir"]
    assert not re.search(r"arith\.select.*tensor<64x64xf32", code)
    assert re.search(r"scf\.if.*tensor<64x64xf32", code)
