"""A part of tests/gpu/test_rounds.py without a GPU: the PTX of its launches, run by
ptx_matrix_machine.py, and what that machine finds when barriers or phases are wrong.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import gpu_rows
import machine_backend
import ptx_matrix_machine
import pytest

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
import test_rounds as rounds  # noqa: E402

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)
ARCHS = pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_120a"])
ONE_ARCH = pytest.mark.parametrize("arch", ["sm_90a"])
Machine = ptx_matrix_machine.Machine


@pytest.fixture
def machines(arch: str, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Launches on CPU tensors go to the machine; all machines that ran, in order."""
    torch.manual_seed(7)
    return machine_backend.record_machines(monkeypatch, arch)


@ARCHS
def test_copies_and_mbarriers(arch: str, machines: Any) -> None:
    """Copies begin before the outer loop, in the inner one, behind it; mbarriers are made once."""
    rounds.run_tiles([2] * 6, 2, "cpu")
    (machine,) = machines
    groups = [i for i in machine.code if "commit_group" in i.parts]
    boxes = [i for i in machine.code if i.parts[0] == "cp" and i.has("mbarrier")]
    made = [i for i in machine.code if i.parts[:2] == ["mbarrier", "init"]]
    places = 2 + 1 + 2
    if arch == "sm_80":
        assert (len(groups), len(boxes)) == (places, 0)
    else:
        assert len(boxes) == 2 * places
    assert len(made) == (0 if arch == "sm_80" else 3)


@ARCHS
@pytest.mark.parametrize("by_tma", [(True, True), (False, False)])
@pytest.mark.parametrize("programs", [1, 4, 9])
@pytest.mark.parametrize("steps", rounds.COUNTS[:3])
def test_tiles(steps: Any, programs: int, by_tma: Any, arch: str, machines: Any) -> None:
    rounds.test_tiles(steps, programs, 3, by_tma, "cpu")


@ONE_ARCH
@pytest.mark.parametrize("stages,warps", [(2, 4), (4, 8)])
@pytest.mark.parametrize("by_tma", [(True, True), (True, False), (False, False)])
def test_stages_of_tiles(by_tma: Any, stages: int, warps: int, arch: str, machines: Any) -> None:
    rounds.run_tiles([5, 0, 0, 2, 1, 3], 2, "cpu", by_tma, warps=warps, stages=stages)


@ARCHS
@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("count,first,second", [(0, 3, 3), (1, 1, 2), (3, 2, 4)])
def test_two_rings(
    count: int, first: int, second: int, moved: bool, arch: str, machines: Any
) -> None:
    rounds.test_two_rings(count, first, second, moved, "cpu")


@ARCHS
@pytest.mark.parametrize("steps", [[], [0], [3], [1, 0, 2], [0, 5, 1, 0, 4]])
def test_continued(steps: Any, arch: str, machines: Any) -> None:
    rounds.test_continued(steps, 3, "cpu")


@ARCHS
@pytest.mark.parametrize("programs", [1, 5])
@pytest.mark.parametrize("steps", [[0], [1, 0, 2], [5, 0, 0, 3, 1]])
def test_pages(steps: Any, programs: int, arch: str, machines: Any) -> None:
    rounds.test_pages(steps, programs, 3, "cpu")


@ONE_ARCH
@pytest.mark.parametrize("stages", [2, 3])
@pytest.mark.parametrize("warps,tile", [(4, (64, 32)), (8, (128, 32))])
@pytest.mark.parametrize("by_tma", [False, True])
@pytest.mark.parametrize("programs", [1, 2])
def test_attention(
    programs: int, by_tma: bool, warps: int, tile: Any, stages: int, arch: str, machines: Any
) -> None:
    rounds.test_attention([1, 0, 2, 0, 3], programs, warps, tile, stages, by_tma, "cpu")


@ARCHS
@pytest.mark.parametrize("programs", [1, 3])
@pytest.mark.parametrize("tiles,steps", [(0, 2), (1, 0), (1, 1), (5, 4)])
def test_while(tiles: int, steps: int, programs: int, arch: str, machines: Any) -> None:
    rounds.test_while(tiles, steps, programs, 3, "cpu")


@ARCHS
@pytest.mark.parametrize("count", [0, 1, 4])
def test_chain(count: int, arch: str, machines: Any) -> None:
    rounds.test_chain(count, "cpu")
