"""A part of tests/gpu/test_loop_copies.py without a GPU: the PTX of its launches, run by
ptx_matrix_machine.py, which finds reads of what no copy has brought yet.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import gpu_rows
import machine_backend
import pytest

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
import test_loop_copies as loops  # noqa: E402

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)
HOPPER = pytest.mark.parametrize("arch", ["sm_90a"])


@pytest.fixture(autouse=True)
def machines(arch: str, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Launches on CPU tensors go to the machine."""
    torch.manual_seed(7)
    return machine_backend.record_machines(monkeypatch, arch)


@HOPPER
@pytest.mark.parametrize("form", ["counted", "pages", "conditions", "halting"])
@pytest.mark.parametrize("count,n", [(0, 64), (1, 8), (3, 104)])
def test_wide(form: str, count: int, n: int, arch: str) -> None:
    kernel = loops.run_wide(form, count, 72, n, "cpu")
    assert loops.copies_of(kernel) >= 3


@pytest.mark.parametrize("arch", ["sm_90a", "sm_120a"])
@pytest.mark.parametrize("tile", [(16, 32, 64), (32, 64, 32)])
@pytest.mark.parametrize("count,n", [(0, 64), (1, 8), (3, 96)])
def test_few_rows(count: int, n: int, tile: Any, arch: str) -> None:
    kernel = loops.run_wide("counted", count, 40, n, "cpu", tile)
    assert loops.copies_of(kernel) >= 3
    assert "tlg.mma " in kernel.asm["ttgir"]


@HOPPER
def test_rows_far_apart(arch: str) -> None:
    loops.run_wide("counted", 2, 72, 64, "cpu", spacing=1 << 16)


@HOPPER
def test_fewer_buffers_than_loads(arch: str) -> None:
    kernel = loops.run_wide("counted", 3, 64, 3 * 128, "cpu", (64, 128, 64), depth=128)
    assert loops.copies_of(kernel) == 3
    rings = [line for line in kernel.asm["ttgir"].splitlines() if "alloc_shared" in line]
    assert [line.partition("stages = ")[2][:1] for line in rings].count("2") == 2


@HOPPER
@pytest.mark.parametrize("moves", [False, True])
@pytest.mark.parametrize("shape", [(64, 64, 32), (80, 48, 96)])
def test_one_stage(shape: Any, moves: bool, arch: str) -> None:
    kernel = loops.run_one_stage(shape, moves, "cpu")
    assert loops.copies_of(kernel) == 2


ARCHS = pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_120a"])


@ARCHS
@pytest.mark.parametrize("tile", [(64, 64), (16, 64)])
@pytest.mark.parametrize("form", ["plain", "conditions", "stores"])
@pytest.mark.parametrize("count,n", [(0, 64), (2, 90), (3, 180)])
def test_rows(count: int, n: int, form: str, tile: Any, arch: str) -> None:
    kernel = loops.run_rows(form, count, tile[0] - 8, n, "cpu", tile)
    _, _, loop = kernel.asm["ttgir"].partition("scf.for")
    assert loop.count("tlg.async_copy") == 2
    assert loop.count("tlg.async_wait 1") == (form == "plain")  # values come beside the first dot


@ARCHS
@pytest.mark.parametrize("count", [0, 1, 3])
def test_chain(count: int, arch: str) -> None:
    loops.test_chain(count, "cpu")


@ARCHS
@pytest.mark.parametrize("form", ["volatile", "assembly"])
@pytest.mark.parametrize("count", [0, 3])
def test_copies_stay_behind_what_tells_of_them(count: int, form: str, arch: str) -> None:
    kernel = loops.run_told(form, count, "cpu")
    before, _, loop = kernel.asm["ttgir"].partition("scf.for")
    assert "tlg.async_copy" not in before
    told = "is_volatile = true" if form == "volatile" else "tl.inline_asm"
    assert 0 < loop.index(told) < loop.index("tlg.async_copy")


@HOPPER
@pytest.mark.parametrize("n,step", [(16, 16), (16, 32), (64, 32)])
@pytest.mark.parametrize("k", [16, 40, 130])
def test_few_columns_in_tf32(k: int, n: int, step: int, arch: str) -> None:
    """Few elements are turned by copies of 4 bytes, others by threads."""
    kernel = loops.run_few_columns(k, n, step, 3, "cpu")
    _, _, loop = kernel.asm["ttgir"].partition("scf.for")
    assert ("tlg.local_store" in loop) == (n == 64)
