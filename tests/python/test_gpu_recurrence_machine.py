"""tests/gpu/test_recurrences.py without a GPU: the PTX of its launches, run by ptx_machine.py."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import gpu_rows
import machine_backend
import pytest

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
import test_recurrences as recurrences  # noqa: E402

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)
ARCHS = pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])


@pytest.fixture
def machines(arch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Launches on CPU tensors go to the machine."""
    torch.manual_seed(7)
    machine_backend.record(monkeypatch, arch)


@ARCHS
@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("steps", [[0], [1, 0, 2], [7, 3]])
def test_scan(steps: Any, moved: bool, arch: str, machines: Any) -> None:
    recurrences.test_scan(steps, moved, 4, "cpu")


@ARCHS
@pytest.mark.parametrize("steps", [0, 2, 7])
def test_in_place(steps: int, arch: str, machines: Any) -> None:
    recurrences.test_in_place(steps, "cpu")


@ARCHS
@pytest.mark.parametrize("steps", [0, 1, 2, 9])
def test_long_iterations(steps: int, arch: str, machines: Any) -> None:
    recurrences.test_long_iterations(steps, "cpu")


@pytest.mark.parametrize("arch", ["sm_90a"])
@pytest.mark.parametrize("rows", [0, 1, 2, 9])
def test_early_loads_stay_early(rows: int, arch: str, machines: Any) -> None:
    kernel = recurrences.run_gradients(rows, "cpu")
    assert rows < 2 or "bra \t$L__pinned0;" in kernel.asm["ptx"]
