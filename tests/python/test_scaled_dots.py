"""tl.dot_scaled in both CPU modes, which give the same bits, and as PTX without a GPU."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import blockscope
import blockscope.language as tl
import gpu_rows
import machine_backend
import ptx_matrix_machine
import pytest
from blockscope import _core
from blockscope.runtime.jit import MockTensor
from machine_backend import MachineBackend, storage_of

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
import test_dot_scaled as scaled_dots  # noqa: E402

PACKS = [(True, True), (False, True), (True, False), (False, False)]


@pytest.fixture
def in_both_modes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every launch of the kernel runs in both modes, which must give the same bits."""
    launch = scaled_dots.launch

    def twice(*arguments: Any, **options: Any) -> Any:
        results = []
        for stepping in (False, True):
            blockscope.set_interpret_mode(stepping)
            try:
                taken = [x.clone() if isinstance(x, torch.Tensor) else x for x in arguments]
                results.append(launch(*taken, **options))
            finally:
                blockscope.set_interpret_mode(False)
        bits = torch.int32 if results[0].dtype == torch.float32 else torch.int16
        assert torch.equal(results[0].view(bits), results[1].view(bits))
        return results[0]

    monkeypatch.setattr(scaled_dots, "launch", twice)


@pytest.mark.usefixtures("in_both_modes")
class TestModes:
    @pytest.mark.parametrize("scaled", ["", "a", "b", "ab", "abc"])
    @pytest.mark.parametrize("right", scaled_dots.FORMS)
    @pytest.mark.parametrize("left", scaled_dots.FORMS)
    def test_formats(self, left: str, right: str, scaled: str) -> None:
        forms = left, right
        tolerance = scaled_dots.tolerance_of(forms)
        scaled_dots.run_random(forms, (16, 32, 64), "cpu", scaled, tolerance=tolerance)

    @pytest.mark.parametrize("packs", PACKS)
    @pytest.mark.parametrize("scaled", ["", "ab"])
    def test_packing(self, packs: tuple[bool, bool], scaled: str) -> None:
        scaled_dots.run_random(("e2m1", "e2m1"), (16, 32, 64), "cpu", scaled, packs=packs)

    @pytest.mark.parametrize("kind", [torch.uint8, torch.float8_e4m3fn])
    @pytest.mark.parametrize("right", ["e2m1", "e4m3"])
    def test_groups_of_16(self, right: str, kind: Any) -> None:
        scaled_dots.run_random(("e2m1", right), (16, 32, 64), "cpu", group=16, kind=kind)

    @pytest.mark.parametrize("out", [torch.float16, torch.bfloat16])
    def test_out_dtype(self, out: Any) -> None:
        tolerance = 2**-11 if out == torch.float16 else 2**-8  # half a unit in the last place
        forms = "e2m1", "e5m2"
        scaled_dots.run_random(forms, (16, 32, 32), "cpu", "abc", out=out, tolerance=tolerance)

    @pytest.mark.parametrize("fast", [False, True])
    @pytest.mark.parametrize("form", ["bf16", "fp16"])
    def test_every_scale(self, form: str, fast: bool) -> None:
        scaled_dots.every_scale(range(16), form, fast, "cpu")


@blockscope.jit
def batched(a, s, b, out, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    batch, m, n = tl.arange(0, B), tl.arange(0, M), tl.arange(0, N)
    k, packed, group = tl.arange(0, K), tl.arange(0, K // 2), tl.arange(0, K // 32)
    rows = (batch[:, None, None] * M + m[None, :, None]) * (K // 2)
    x = tl.load(a + rows + packed[None, None, :])
    rows = (batch[:, None, None] * M + m[None, :, None]) * (K // 32)
    scale = tl.load(s + rows + group[None, None, :])
    y = tl.load(b + (batch[:, None, None] * K + k[None, :, None]) * N + n[None, None, :])
    c = tl.dot_scaled(x, scale, "e2m1", y, None, "e4m3")
    tl.store(out + (batch[:, None, None] * M + m[None, :, None]) * N + n[None, None, :], c)


def test_batches() -> None:
    import numpy as np

    random = np.random.default_rng(3)
    a, left = scaled_dots.random_operand("e2m1", (2 * 16, 64), 1, random)
    b, right = scaled_dots.random_operand("e4m3", (2 * 64, 16), 0, random)
    scale = torch.from_numpy(random.integers(121, 133, (2 * 16, 2))).to(torch.uint8)
    out = torch.zeros((2, 16, 16))
    batched[(1,)](a, scale, b, out, B=2, M=16, N=16, K=64)
    left = (left * scaled_dots.along_k(scale, 32)).reshape(2, 16, 64)
    np.testing.assert_allclose(out.numpy(), left @ right.reshape(2, 64, 16), rtol=1e-5, atol=1e-5)


# -- without a GPU ---------------------------------------------------------------------------------

needs_tools = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)


@needs_tools
@pytest.mark.parametrize("arch", [target["arch"] for target in _core.gpu.targets()])
@pytest.mark.parametrize("forms", [("e2m1", "e4m3"), ("e5m2", "fp16")])
def test_assembles(forms: tuple[str, str], arch: str) -> None:
    def pointer(form: str) -> Any:
        return MockTensor(
            {"e2m1": tl.uint8, "e4m3": tl.float8e4nv, "e5m2": tl.float8e5, "bf16": tl.bfloat16,
             "fp16": tl.float16}[form]
        )  # fmt: skip

    a, b = map(pointer, forms)
    scale, out = MockTensor(tl.uint8), MockTensor(tl.float32)
    kernel = scaled_dots.dot_scaled_kernel.warmup(
        a, scale, b, scale, out, out, *forms, 64, 64, 64, 32, True, True, False,
        grid=(1,), arch=arch,
    )  # fmt: skip
    assert kernel.warnings == [] and kernel.n_spills == 0
    features = next(each["features"] for each in _core.gpu.targets() if each["arch"] == arch)
    kinds = "f16.f16" if "fp16" in forms else "bf16.bf16"
    if "block-scaled mma" in features and "fp16" not in forms:
        kinds = ".".join(forms)
    assert re.search(rf"mma\S*\.f32\.{kinds}", kernel.asm["ptx"])


@pytest.fixture
def machines(arch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Launches on CPU tensors go to the machine that runs PTX."""

    def run(kernel: Any, grid: Any, values: list[Any]) -> None:
        kernel = gpu_rows.as_launched(kernel, values)
        machine = ptx_matrix_machine.Machine(kernel.asm["ptx"], kernel.metadata.num_warps)
        machine.run(grid, [storage_of(value) for value in values], kernel.metadata.shared)

    machine_backend.use(monkeypatch, MachineBackend(arch, run))


@needs_tools
@pytest.mark.usefixtures("machines")
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
class TestMachine:
    @pytest.mark.parametrize(
        "forms",
        [("e2m1", "e2m1"), ("e2m1", "e4m3"), ("e5m2", "bf16"), ("fp16", "e2m1"), ("e4m3", "fp16")],
    )
    def test_formats(self, forms: tuple[str, str]) -> None:
        tolerance = scaled_dots.tolerance_of(forms)
        scaled_dots.run_random(forms, (64, 32, 64), "cpu", "abc", tolerance=tolerance)

    @pytest.mark.parametrize("packs", PACKS)
    def test_packing(self, packs: tuple[bool, bool]) -> None:
        scaled_dots.run_random(("e2m1", "e2m1"), (32, 32, 64), "cpu", packs=packs)

    @pytest.mark.parametrize("form", ["bf16", "fp16"])
    def test_every_scale(self, form: str) -> None:
        scaled_dots.every_scale([1, 15], form, False, "cpu")
