"""Tensor descriptors that TMA copies by maps which the kernel makes, without a GPU: run by
ptx_matrix_machine.py."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import gpu_rows
import machine_backend
import pytest

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
import test_made_maps as made  # noqa: E402
from ptx_machine import PtxError  # noqa: E402

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)
HOPPER = pytest.mark.parametrize("arch", ["sm_90a"])


def maps_of(kernel: Any) -> int:
    """How many maps the kernel makes, each in 128 bytes of the program's scratch memory."""
    count: int = kernel.asm["ttgir"].count("tlg.make_tensor_map")
    assert kernel.data["global_scratch_size"] == 128 * count
    return count


@HOPPER
@pytest.mark.parametrize("form", ["offsets", "addresses"])
@pytest.mark.parametrize(
    ("groups", "width", "stages"),
    [
        ([(64, 64, 64)], 1, 3),  # one tile of one step
        ([(64, 64, 64)], 2, 2),  # a program without any
        ([(5, 64, 0), (0, 64, 64), (64, 3, 33)], 1, 3),  # no step; an empty tensor; partial
        ([(70, 72, 200), (64, 64, 129)], 2, 4),
    ],
)
def test_grouped(groups: Any, width: int, stages: int, form: str, arch: str, kernels: Any) -> None:
    made.run_grouped(form, groups, width, stages, "cpu")
    assert kernels[0].asm["plan"].count(": TMA, ") == 2
    assert maps_of(kernels[0]) == 3
    assert "tlg.tma_store" in kernels[0].asm["ttgir"]


@HOPPER
def test_grouped_of_two_warpgroups(arch: str, kernels: Any) -> None:
    made.run_grouped("addresses", [(130, 64, 136)], 1, 3, "cpu", (128, 64, 64), warps=8)
    assert maps_of(kernels[0]) == 3


@HOPPER
@pytest.mark.parametrize("tile", [(64, 128, 64), (64, 64, 128)])
def test_copies_in_several_boxes(tile: tuple[int, int, int], arch: str, kernels: Any) -> None:
    """Only the warp that has acquired a map may begin copies by it."""
    made.run_grouped("addresses", [(64, 128, 130), (70, 136, 64)], 1, 3, "cpu", tile)
    assert kernels[0].asm["plan"].count(": TMA, ") == 2


@HOPPER
@pytest.mark.parametrize(("n", "k", "stages"), [(64, 64, 3), (40, 200, 2), (64, 3, 3)])
def test_experts(n: int, k: int, stages: int, arch: str, kernels: Any) -> None:
    made.run_experts("before the loop", n, k, stages, "cpu")
    assert kernels[0].asm["plan"].count(": TMA, ") == 2
    assert maps_of(kernels[0]) == 3


@HOPPER
def test_no_map_is_made_in_the_loop_of_its_copies(arch: str, kernels: Any) -> None:
    made.run_experts("in the loop", 64, 130, 3, "cpu")
    assert kernels[0].asm["plan"].count(": TMA, ") == 1
    assert maps_of(kernels[0]) == 2  # of x and of the result
    assert not re.search(r"scf\.for[^}]*tlg\.make_tensor_map", kernels[0].asm["ttgir"])


@HOPPER
@pytest.mark.parametrize(("count", "k", "stages"), [(0, 64, 3), (1, 200, 2), (3, 136, 3)])
def test_carried(count: int, k: int, stages: int, arch: str, kernels: Any) -> None:
    made.run_carried(count, k, stages, "cpu")
    assert kernels[0].asm["plan"].count(": TMA, ") == 2
    assert maps_of(kernels[0]) == 2


@pytest.mark.parametrize("arch", ["sm_80"])
def test_without_tma(arch: str, kernels: Any) -> None:
    made.run_grouped("addresses", [(70, 72, 40), (0, 1, 1)], 2, 3, "cpu")
    assert maps_of(kernels[0]) == 0


@HOPPER
def test_a_stride_that_tma_cannot_copy_ends_the_program(
    arch: str, kernels: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(made, "padded", lambda size: size | 1)
    with pytest.raises(PtxError, match="the program ends itself"):
        made.run_grouped("offsets", [(64, 64, 64)], 1, 3, "cpu")


@HOPPER
@pytest.mark.parametrize(
    ("left_out", "message"),
    [
        (r"fence\.proxy\.tensormap::generic\.acquire\.gpu[^;]*;", "has not acquired"),
        (r"st\.shared\.b32 \[[^;]*;", "nobody has written"),
    ],
)
def test_what_the_machine_asks_of_maps(
    left_out: str, message: str, arch: str, kernels: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine_for = machine_backend.machine_for

    class Changed:
        def __init__(self, kernel: Any) -> None:
            ptx = re.sub(left_out, "", kernel.asm["ptx"])
            self.asm, self.metadata, self.data = {"ptx": ptx}, kernel.metadata, kernel.data

    monkeypatch.setattr(machine_backend, "machine_for", lambda kernel: machine_for(Changed(kernel)))
    with pytest.raises(PtxError, match=message):
        made.run_experts("before the loop", 64, 64, 3, "cpu", programs=1)
