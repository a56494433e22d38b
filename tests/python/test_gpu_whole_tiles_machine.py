"""Loops whose whole tiles run without masks, without a GPU: run by ptx_matrix_machine.py."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import gpu_rows
import pytest

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
import test_whole_tiles as whole  # noqa: E402

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)
ARCHS = pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])


@ARCHS
@pytest.mark.parametrize("form", ["steps", "left over", "each third"])
@pytest.mark.parametrize(("m", "n", "k"), whole.SIZES)
def test_product(m: int, n: int, k: int, form: str, arch: str, kernels: Any) -> None:
    whole.run_product(form, m, n, k, "cpu")
    plan = kernels[0].asm["plan"]
    assert plan.count("cp.async, 4096 bytes") == 2  # of whole tiles
    assert plan.count("pieces of 2 bytes") == 2  # at the edges


@ARCHS
def test_rows(arch: str, kernels: Any) -> None:
    whole.run_rows(whole.ROWS, True, "cpu")
    assert len(re.findall(r"ld\.global\S*\.v2", kernels[0].asm["ptx"])) == 2


@ARCHS
def test_rows_whose_first_tiles_are_at_the_edge(arch: str, kernels: Any) -> None:
    """Masks of later iterations hold, not those of earlier ones: they stay."""
    whole.run_rows(whole.ROWS, False, "cpu")


@ARCHS
@pytest.mark.parametrize(
    ("form", "begin", "end", "step", "size"), [*whole.CARRIED, *whole.FAR_APART]
)
def test_carried(
    form: str, begin: int, end: int, step: int, size: int, arch: str, kernels: Any
) -> None:
    whole.run_carried(form, begin, end, step, size, "cpu")
    assert kernels[0].asm["ttgir"].count("scf.for") == (1 if form == "constant" else 2)


@ARCHS
@pytest.mark.parametrize("n", [31, 32])
@pytest.mark.parametrize("warps", [2, 4, 8])
def test_stored_twice(n: int, warps: int, arch: str, kernels: Any) -> None:
    whole.run_twice(n, warps, "cpu")


@ARCHS
@pytest.mark.parametrize("form", ["carried", "chosen", "atomic"])
@pytest.mark.parametrize("n", [31, 32])
@pytest.mark.parametrize("warps", [4, 8])
def test_stored_and_loaded(form: str, n: int, warps: int, arch: str, kernels: Any) -> None:
    whole.run_added(form, n, 3, warps, "cpu")
