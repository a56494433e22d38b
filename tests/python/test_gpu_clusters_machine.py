"""A part of tests/gpu/test_clusters.py without a GPU: clusters, run by ptx_matrix_machine.py, which
takes a read of another CTA's shared memory without a barrier between for an error.
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
import test_clusters as clusters  # noqa: E402

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)
CTAS = pytest.mark.parametrize("ctas", [2, 4])


@pytest.fixture(autouse=True)
def on_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(7)
    machine_backend.record(monkeypatch, "sm_90a", seed=3)


@CTAS
def test_elementwise(ctas: int) -> None:
    clusters.test_elementwise(1000, ctas, "cpu")


@CTAS
def test_rows_that_ctas_share(ctas: int) -> None:
    clusters.test_rows_that_ctas_share(ctas, "cpu")


@CTAS
@pytest.mark.parametrize(("rows", "columns"), [(64, 32), (4, 256), (2, 2), (1, 64)])
def test_statistics(rows: int, columns: int, ctas: int) -> None:
    if max(rows, columns) >= ctas:  # else it is one CTA, with a warning
        clusters.test_statistics(rows, columns, ctas, "cpu")


@CTAS
def test_order_of_a_reduction(ctas: int) -> None:
    clusters.test_order_of_a_reduction(ctas, "cpu")


@CTAS
@pytest.mark.parametrize(("rows", "columns"), [(32, 16), (4, 64)])
def test_along_an_axis(rows: int, columns: int, ctas: int) -> None:
    clusters.test_along_an_axis(rows, columns, ctas, "cpu")


@CTAS
@pytest.mark.parametrize(("n", "m"), [(64, 32), (8, 2)])
def test_shapes(n: int, m: int, ctas: int) -> None:
    clusters.test_shapes(n, m, ctas, "cpu")


@pytest.mark.parametrize("steps", [0, 5])
def test_loops(steps: int) -> None:
    clusters.test_loops(steps, 2, "cpu")


@pytest.mark.parametrize("described", [False, True])
@pytest.mark.parametrize("tile", [(128, 64, 32), (32, 32, 32)])
def test_product(tile: Any, described: bool) -> None:
    clusters.run_product(tile, described, torch.float16, 2, "cpu", 72, shape=(136, 72))


@CTAS
@pytest.mark.parametrize("k", [32, 64, 96, 192])
@pytest.mark.parametrize("stages", [3, 4])
def test_copies_that_ctas_share(k: int, stages: int, ctas: int) -> None:
    kernel = clusters.run_product(
        (256, 32, 32), True, torch.float16, ctas, "cpu", k, stages=stages, shape=(264, 48)
    )
    assert "multicast::cluster" in kernel.asm["ptx"]


@pytest.mark.parametrize("arch", ["sm_100a", "sm_120a"])
def test_copies_are_not_shared_where_that_is_slow(
    arch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine_backend.record(monkeypatch, arch, seed=3)
    kernel = clusters.run_product(
        (256, 32, 32), True, torch.float16, 2, "cpu", 96, stages=3, shape=(264, 48)
    )
    assert ("multicast::cluster" in kernel.asm["ptx"]) == (arch == "sm_100a")


@pytest.mark.parametrize("programs", [1, 2])
def test_persistent(programs: int) -> None:
    clusters.test_persistent(programs, 2, "cpu")


def test_attention() -> None:
    clusters.test_attention(2, "cpu")


def test_batched_product() -> None:
    clusters.test_batched_product(2, "cpu")


@CTAS
def test_atomics(ctas: int) -> None:
    clusters.test_atomics(ctas, "cpu")


@CTAS
def test_stores_of_branches(ctas: int) -> None:
    clusters.test_stores_of_branches(ctas, "cpu")


@pytest.mark.parametrize("tile", [(64, 64, 64), (128, 32, 64)])
@pytest.mark.parametrize("format", ["e2m1", "e4m3"])
@pytest.mark.parametrize("arch", ["sm_90a", "sm_120a"])
def test_scaled_product(tile: Any, format: str, arch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    machine_backend.record(monkeypatch, arch, seed=3)
    kernel = clusters.run_scaled(tile, format, 2, "cpu")
    assert ("kind::mxf" in kernel.asm["ptx"]) == (arch == "sm_120a")


def test_kernels_of_one_cta() -> None:
    clusters.test_kernels_of_one_cta("cpu")
