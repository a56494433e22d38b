"""Loops whose addresses are loaded in the loop, without a GPU: run by ptx_matrix_machine.py."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import gpu_rows
import pytest

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
import test_address_chains as chains  # noqa: E402

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)
ARCHS = pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])


@ARCHS
@pytest.mark.parametrize("form", ["page", "rows", "used", "two", "divided"])
@pytest.mark.parametrize(("keys", "stages"), [(0, 2), (5, 3), (16, 2), (39, 4), (80, 3)])
def test_paged_sum(keys: int, stages: int, form: str, arch: str, kernels: Any) -> None:
    chains.run_paged_sum(form, keys, stages, "cpu")
    plan = kernels[0].asm["plan"]
    assert plan.count(": cp.async, ") == 2
    levels = 2 if form == "two" else 1
    ahead = max(2, stages - levels) - 1
    for level in range(1, levels + 1):
        assert f"into registers, {ahead + level} iterations early: addresses of copies" in plan


@pytest.mark.parametrize("arch", ["sm_90a"])
@pytest.mark.parametrize("form", ["page", "rows", "used"])
@pytest.mark.parametrize(("keys", "stages"), [(0, 2), (64, 3), (100, 2), (300, 3)])
def test_paged_sum_of_warpgroups(
    keys: int, stages: int, form: str, arch: str, kernels: Any
) -> None:
    """The second dot runs an iteration later, and its page with it."""
    chains.run_paged_sum(form, keys, stages, "cpu", 8, m=128, n=64, d=64)
    assert "used an iteration later" in kernels[0].asm["plan"]


@pytest.mark.parametrize("arch", ["sm_90a"])
def test_pages_far_apart(arch: str, kernels: Any) -> None:
    chains.run_paged_sum("page", 40, 3, "cpu", spread=1 << 10)


@pytest.mark.parametrize("arch", ["sm_90a"])
@pytest.mark.parametrize(("count", "stages"), [(0, 2), (2, 4), (5, 3)])
def test_described(count: int, stages: int, arch: str, kernels: Any) -> None:
    chains.run_described(count, stages, "cpu")
    assert ": TMA, " in kernels[0].asm["plan"]
    assert f"into registers, {stages} iterations early" in kernels[0].asm["plan"]


@pytest.mark.parametrize("arch", ["sm_90a"])
@pytest.mark.parametrize("count", [0, 1, 4])
def test_list(count: int, arch: str, kernels: Any) -> None:
    chains.run_list(count, 3, "cpu")
    assert count == 1 or "a load that cannot be done earlier" in kernels[0].asm["plan"]


@ARCHS
@pytest.mark.parametrize(("k", "stages"), [(32, 3), (96, 2), (112, 4)])
def test_scaled(k: int, stages: int, arch: str, kernels: Any) -> None:
    chains.run_scaled(k, stages, "cpu")
    assert "into registers, an iteration early" in kernels[0].asm["plan"]
