"""What the GPU compiler shows of its passes, how they are replaced, and what a failure leaves."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import pytest
from blockscope import _core
from blockscope.errors import CompilationError

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)
BLK_OPT = Path(_core.__file__).parents[2] / "bin" / "blk-opt"


@triton.jit
def copy_kernel(x_ptr, y_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets))


@pytest.fixture(autouse=True)
def own_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def compiled() -> Any:
    copy_kernel.device_caches.clear()
    return copy_kernel.warmup(tl.float32, tl.float32, N=1024, grid=(1,), arch="sm_80")


def passes_in(text: str) -> list[str]:
    return re.findall(r"^// -----// IR Dump After \w+ \(([\w-]+)\) of 'copy_kernel'", text, re.M)


@pytest.mark.parametrize("wanted", ["1", "copy_kernel"])
def test_every_pass_is_dumped(
    wanted: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    compiled()  # what is in the cache is compiled again, or there would be nothing to see
    monkeypatch.setenv("MLIR_ENABLE_DUMP", wanted)
    compiled()
    text = capfd.readouterr().err
    dumped = passes_in(text)
    assert text.count("func.func @copy_kernel") == len(dumped)
    names = [name for name in dumped if not name.endswith("mark-loops")]  # around other passes
    assert names[:2] == ["blk-hints", "blk-simplify"]
    assert names[5:] == [
        "tlg-share-loads", "tlg-count-loops", "tlg-unroll-loops", "tlg-loop-over-elements",
        "tlg-split-whole-tiles",
        "tlg-carry-scalars",
        "tlg-split-cluster",
        "tlg-assign-layouts", "cse",
        "blk-licm",
        "tlg-find-tma", "tlg-place-conversions", "tlg-share-vectors", "tlg-sink-conversions",
        "tlg-merge-reductions", "tlg-reduce-after-loops",
        "tlg-branch-for-sums", "tlg-pipeline-loops", "tlg-copy-by-tma", "tlg-stage-operands",
        "cse", "blk-licm", "tlg-branch-for-blocks", "tlg-delay-conversions", "tlg-order-wgmma",
        "tlg-order-stores", "tlg-mark-read-only", "tlg-join-accesses",
        "tlg-keep-buffers-apart", "tlg-place-shared",
    ]  # fmt: skip


@pytest.mark.parametrize("wanted", ["", "0", "other_kernel"])
def test_nothing_is_dumped_unasked(
    wanted: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MLIR_ENABLE_DUMP", wanted)
    monkeypatch.setenv("LLVM_IR_ENABLE_DUMP", "0")
    compiled()
    assert capfd.readouterr().err == ""


def test_llvm_ir_is_dumped(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LLVM_IR_ENABLE_DUMP", "1")
    compiled()
    text = capfd.readouterr().err
    assert re.findall(r"^; \*\*\* LLVM IR of 'copy_kernel' ([\w ]+) \*\*\*", text, re.M) == [
        "as lowered", "optimised",
    ]  # fmt: skip
    assert text.count("define ptx_kernel void @copy_kernel") == 2


def test_another_pipeline(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = compiled()
    for text in (
        "tlg-assign-layouts,cse,tlg-stage-operands",
        "tlg-assign-layouts",
        "builtin.module(tlg-assign-layouts,cse)",
        "tlg-pipeline",
    ):
        monkeypatch.setenv("BLOCKSCOPE_GPU_PIPELINE", text)
        other = compiled()
        assert other.metadata.hash != usual.metadata.hash
        assert "#tlg.layout" in other.asm["tlg"]


@pytest.mark.parametrize(
    ("pipeline", "message"),
    [
        ("nonsense", "'nonsense' is not a pipeline of passes: .*does not refer to a registered"),
        ("cse", r"test_gpu_passes\.py:\d+:\d+: has a block without a layout; tlg-assign-layouts"),
    ],
)
def test_a_pipeline_that_cannot_work(
    pipeline: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLOCKSCOPE_GPU_PIPELINE", pipeline)
    with pytest.raises(CompilationError, match=message):
        compiled()


@pytest.mark.parametrize("dumps", [False, True])
def test_a_failing_pass_leaves_what_reproduces_it(
    dumps: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BLOCKSCOPE_GPU_PIPELINE", "tlg-pipeline,tlg-assign-layouts,cse")
    if dumps:
        monkeypatch.setenv("TRITON_KERNEL_DUMP", "1")
        monkeypatch.setenv("TRITON_DUMP_DIR", str(tmp_path / "dumps"))
    with pytest.raises(CompilationError, match="has layouts already") as error:
        compiled()
    named = re.search(r"blk-opt reproduces this from (\S+\.mlir), ", str(error.value))
    assert named
    path = Path(named[1])
    assert (path.parent.parent if dumps else path.parent) == (
        tmp_path / "dumps" if dumps else tmp_path
    )
    command, reason, *ir = path.read_text().splitlines()
    assert re.fullmatch(
        rf"// blk-opt {path} --pass-pipeline='builtin\.module\(tlg-assign-layouts\{{.*\}}\)'",
        command,
    )
    assert "has layouts already" in reason
    assert any("#tlg.layout" in line for line in ir)
    if BLK_OPT.exists():
        again = subprocess.run(
            command.removeprefix("// ").replace("blk-opt", str(BLK_OPT), 1),
            shell=True, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert again.returncode != 0
        assert "has layouts already" in again.stderr


@triton.jit
def product_kernel(a_ptr, c_ptr, N: tl.constexpr):
    rows = tl.arange(0, N)
    block = rows[:, None] * N + rows[None, :]
    a = tl.load(a_ptr + block)
    tl.store(c_ptr + block, tl.dot(a, a))


def test_a_mistake_found_while_lowering_leaves_what_reproduces_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BLOCKSCOPE_GPU_PIPELINE", "tlg-assign-layouts")  # wgmma wants more
    missing = r"test_gpu_passes\.py:\d+:\d+: .*; tlg-stage-operands has to come before \(in"
    with pytest.raises(CompilationError, match=missing) as error:
        product_kernel.warmup(tl.float16, tl.float32, N=64, grid=(1,), arch="sm_90a")
    named = re.search(r"blk-opt reproduces this from (\S+\.mlir), ", str(error.value))
    assert named
    command = Path(named[1]).read_text().splitlines()[0]
    if BLK_OPT.exists():
        again = subprocess.run(
            command.removeprefix("// ").replace("blk-opt", str(BLK_OPT), 1),
            shell=True, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert again.returncode != 0
        assert "mistake in blockscope" in again.stderr


def test_the_shortest_pipeline_fits_products_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOCKSCOPE_GPU_PIPELINE", "tlg-assign-layouts,cse,tlg-stage-operands")
    for arch, instruction in (("sm_80", "mma.sync"), ("sm_90a", "wgmma.mma_async")):
        kernel = product_kernel.warmup(tl.float16, tl.float32, N=64, grid=(1,), arch=arch)
        assert instruction in kernel.asm["ptx"]
