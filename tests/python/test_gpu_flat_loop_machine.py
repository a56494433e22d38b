"""Loops over the steps of several tiles, without a GPU: run by ptx_matrix_machine.py."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import machine_backend
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


@triton.jit
def sums_by_periods(
    a_ptr, b_ptr, out_ptr, steps, period,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, FORM: tl.constexpr,
):  # fmt: skip
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((M, N), tl.float32)
    other = tl.zeros((M, N), tl.float32)
    for i in range(steps):
        a = tl.load(a_ptr + i * M * K + m[:, None] * K + k[None, :])
        b = tl.load(b_ptr + i * K * N + k[:, None] * N + n[None, :])
        total = tl.dot(a, b, total)
        if FORM == "two":
            other = tl.dot(a, b, other)
        to = out_ptr + i * M * N + m[:, None] * N + n[None, :]
        if i % period == period - 1:
            if FORM == "used" or FORM == "two":
                tl.store(out_ptr + i * M * N, tl.sum(total))
            if FORM == "two":
                tl.store(out_ptr + i * M * N + 1, tl.sum(other) + 1.0)
                other = tl.zeros((M, N), tl.float32)
            if FORM == "dot":
                tl.store(to, tl.dot(total.to(tl.float16), b))
            if FORM == "unused":
                tl.store(out_ptr + i * M * N, 5.0)
            total = tl.zeros((M, N), tl.float32)
    tl.store(out_ptr + (steps + 1) * M * N + m[:, None] * N + n[None, :], total)


@pytest.mark.parametrize("steps", [0, 1, 2, 5, 7])
@pytest.mark.parametrize("period", [1, 3])
@pytest.mark.parametrize("form", ["used", "unused", "two", "dot"])
def test_only_the_branch_that_needs_sums_waits(
    form: str, period: int, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where they are used there, or others take their registers; not where it has dots itself."""
    kernels = machine_backend.record(monkeypatch, "sm_90a")
    torch.manual_seed(4)
    size = 64
    a, b = (torch.randint(-2, 3, (max(steps, 1), size, size)).half() for _ in range(2))
    out = torch.full((steps + 2, size, size), 77.0)
    sums_by_periods[(1,)](
        a, b, out, steps, period, M=size, N=size, K=size, FORM=form, num_warps=4, num_stages=3
    )
    want, total = torch.full((steps + 2, size, size), 77.0), torch.zeros(size, size)
    for i in range(steps):
        total = total + a[i].float() @ b[i].float()
        if i % period == period - 1:
            if form == "dot":
                want[i] = total.half().float() @ b[i].float()
            else:
                want[i, 0, 0] = 5.0 if form == "unused" else total.sum()
            if form == "two":
                want[i, 0, 1] = total.sum() + 1.0
            total = torch.zeros(size, size)
    want[-1] = total
    assert torch.equal(out, want)
    if steps > 1 and period > 1:  # else one of them is no variable
        ptx = kernels[0].asm["ptx"]
        running = {"used": "1", "unused": "1", "two": "2"}.get(form)
        assert (f"wgmma.wait_group.sync.aligned {running};" in ptx) == (running is not None)
