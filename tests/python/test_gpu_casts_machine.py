"""Conversions between element types, as they are compiled, without a GPU."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import gpu_rows
import machine_backend
import pytest

torch = pytest.importorskip("torch")
sys.path.append(str(Path(__file__).parents[1] / "gpu"))
import test_conversions as conversions  # noqa: E402

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)
ARCHS = pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])


@ARCHS
@pytest.mark.parametrize("dtype", conversions.INTEGERS)
def test_integers_to_bf16_are_rounded_once(
    dtype: Any, arch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine_backend.record(monkeypatch, arch)
    conversions.run_integers_to_bf16(dtype, "cpu")


@ARCHS
@pytest.mark.parametrize(("source", "target"), conversions.PAIRS)
def test_all_of_16_bits(
    source: Any, target: Any, arch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = conversions.all_of_16_bits(source)
    want = conversions.converted(values, target, "cpu", 1 << 14)
    machine_backend.record(monkeypatch, arch)
    conversions.run_pair(source, target, want, "cpu")


@pytest.mark.parametrize("count", [1, 2])
def test_an_odd_number_of_elements(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.tensor([449.0, -1.5])[:count].half()
    machine_backend.record(monkeypatch, "sm_90a")
    y = conversions.converted(x, torch.float8_e4m3fn, "cpu", count)
    assert y.float().tolist() == [448.0, -1.5][:count]
