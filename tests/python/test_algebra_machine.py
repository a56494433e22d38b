"""Compiled kernels in the algebra: their dots have the layouts, copies and addresses of the kernel
without it, so a mistake in any of these shows in the bits. Run by ptx_matrix_machine.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import blockscope
import blockscope.language as tl
import gpu_rows
import machine_backend
import ptx_clocks
import ptx_matrix_machine
import pytest
from blockscope.tools.tensor_descriptor import TensorDescriptor
from ptx_machine import Schedule

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)
FP8, FP16, BF16 = torch.float8_e5m2, torch.float16, torch.bfloat16
FP32, FP64 = torch.float32, torch.float64


@blockscope.jit
def product(
    a, b, c, K, A_ROW: tl.constexpr, B_ROW: tl.constexpr, B_COLUMN: tl.constexpr, M: tl.constexpr,
    N: tl.constexpr, BK: tl.constexpr, OUT: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    sums = tl.zeros((M, N), OUT)
    for start in range(0, K, BK):
        seen = start + k < K
        left = tl.load(a + m[:, None] * A_ROW + (start + k)[None, :], seen[None, :], 0.0)
        at = (start + k)[:, None] * B_ROW + n[None, :] * B_COLUMN
        right = tl.load(b + at, seen[:, None], 0.0)
        sums += tl.dot(left, right, out_dtype=OUT, input_precision=PRECISION)
    tl.store(c + m[:, None] * N + n[None, :], sums)


@blockscope.jit
def described_product(a, b, c, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    sums = tl.zeros((M, N), tl.float32)
    for start in range(0, K, BK):
        sums = tl.dot(a.load([0, start]), b.load([start, 0]), sums)
    c.store([0, 0], sums)


@blockscope.jit
def attention(q, k, v, out, count, N: tl.constexpr, D: tl.constexpr):
    i, d = tl.arange(0, N), tl.arange(0, D)
    queries = tl.load(q + i[:, None] * D + d[None, :])
    sums = tl.zeros((N, D), tl.float32)
    for start in range(0, count, N):
        keys = tl.load(k + (start + i)[None, :] * D + d[:, None])
        scores = tl.exp2(tl.dot(queries, keys) * 0.125)
        values = tl.load(v + (start + i)[:, None] * D + d[None, :])
        sums = sums * 0.5 + tl.dot(scores.to(values.dtype), values)
    tl.store(out + i[:, None] * D + d[None, :], sums)


def bits(*shape: int, dtype: Any) -> Any:
    """Random bits, infinities and NaNs among them."""
    size = torch.empty(0, dtype=dtype).element_size()
    return torch.randint(0, 256, (*shape[:-1], shape[-1] * size), dtype=torch.uint8).view(dtype)


def anew(kernel: Any) -> Any:
    """The kernel, not compiled yet: the machine takes the place of the CPU."""
    return blockscope.jit(kernel.fn)


def on_both(
    run: Any, monkeypatch: Any, arch: str, edit: Callable[[str], str] = str
) -> tuple[Any, Any, Any]:
    """What ``run`` gives on the CPU and on the machine, as bytes, and the PTX of its kernel, which
    ``edit`` changes before it runs."""
    texts = []

    def run_edited(kernel: Any, grid: Any, values: list[Any]) -> None:
        kernel = gpu_rows.as_launched(kernel, values)
        texts.append(edit(kernel.asm["ptx"]))
        machine = machine_backend.machine_for(kernel)
        if texts[-1] != kernel.asm["ptx"]:
            machine = ptx_matrix_machine.Machine(texts[-1], kernel.metadata.num_warps)
        machine.schedule = Schedule(seed=1)
        machine.run(grid, [machine_backend.storage_of(v) for v in values], kernel.metadata.shared)

    torch.manual_seed(3)
    expected = run()
    with monkeypatch.context() as here:
        machine_backend.use(here, machine_backend.MachineBackend(arch, run_edited))
        torch.manual_seed(3)
        found = run()
    return found.view(torch.uint8), expected.view(torch.uint8), texts[0]


def multiplied(a_type: Any, shape: Any, depth: int, along_k: bool, out: Any,
               precision: str = "tf32", **options: Any) -> Any:  # fmt: skip
    m, n, bk = shape
    names = {FP32: tl.float32, FP64: tl.float64, FP16: tl.float16}

    def run() -> Any:
        a, b = bits(m, depth, dtype=a_type), bits(depth, n, dtype=a_type)
        steps = (1, depth) if along_k else (n, 1)
        c = torch.zeros(m, n, dtype=out)
        anew(product)[(1,)](
            a, b, c, depth, depth, *steps, m, n, bk, names[out], precision,
            instrumentation_mode="fpsan", **options,
        )  # fmt: skip
        return c

    return run


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("along_k", [True, False])
@pytest.mark.parametrize("dtype", [FP8, FP16, BF16, FP32, FP64])
def test_products(dtype: Any, along_k: bool, arch: str, monkeypatch: Any) -> None:
    shape = (64, 32, 128 // dtype.itemsize) if dtype != FP64 else (16, 16, 16)
    out = FP64 if dtype == FP64 else FP32
    run = multiplied(dtype, shape, 3 * shape[2] - 16, along_k, out, num_stages=3)
    found, expected, ptx = on_both(run, monkeypatch, arch)
    assert torch.equal(found, expected)
    assert "mma.sync" not in ptx and "wgmma.mma_async" not in ptx
    assert ("cp.async" in ptx) or dtype == FP8


@pytest.mark.parametrize("dtype", [FP16, FP32])
def test_products_without_tensor_cores(dtype: Any, monkeypatch: Any) -> None:
    run = multiplied(dtype, (32, 32, 4 if dtype == FP16 else 16), 40, False, FP32, "ieee")
    found, expected, _ = on_both(run, monkeypatch, "sm_90a")
    assert torch.equal(found, expected)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("warps", [4, 8])
def test_sums_in_fp16(warps: int, arch: str, monkeypatch: Any) -> None:
    run = multiplied(FP16, (128, 64, 32), 96, False, FP16, num_stages=2, num_warps=warps)
    found, expected, _ = on_both(run, monkeypatch, arch)
    assert torch.equal(found, expected)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("dtype", [FP16, FP32])
def test_sums_as_operands(dtype: Any, warps: int, arch: str, monkeypatch: Any) -> None:
    """The first operand of the second dot stays in registers."""

    def run() -> Any:
        q, k, v = bits(64, 32, dtype=dtype), bits(192, 32, dtype=dtype), bits(192, 32, dtype=dtype)
        out = torch.zeros(64, 32)
        anew(attention)[(1,)](
            q, k, v, out, 192, 64, 32, num_warps=warps, num_stages=2, instrumentation_mode="fpsan"
        )
        return out

    found, expected, _ = on_both(run, monkeypatch, arch)
    assert torch.equal(found, expected)


def test_descriptors(monkeypatch: Any) -> None:
    def run() -> Any:
        a, b, c = bits(64, 192, dtype=BF16), bits(192, 64, dtype=BF16), torch.zeros(64, 64)
        blocks = ([64, 64], [64, 64], [64, 64])
        made = [TensorDescriptor.from_tensor(x, block) for x, block in zip((a, b, c), blocks)]
        anew(described_product)[(1,)](*made, 192, 64, 64, 64, instrumentation_mode="fpsan")
        return c

    found, expected, ptx = on_both(run, monkeypatch, "sm_90a")
    assert torch.equal(found, expected)
    assert "cp.async.bulk.tensor" in ptx


#: What a mistake of the compiler changes in the PTX of a loop that is copied by cp.async.
PLANTED = {
    "a swizzle": (r"and\.b32(\s+%r\d+, %r\d+), 144;", r"and.b32\1, 128;"),  # rows of 128 bytes
    "a barrier": (r"(cp\.async\.wait_group 1;(?:(?!bar\.sync)[\s\S])*)bar\.sync[^;]*;", r"\1"),
    "a mask": (r"setp\.ge\.s32(\s+%p\d+)", r"setp.lt.s32\1"),
}


@pytest.mark.parametrize("mistake", PLANTED)
def test_mistakes_show(mistake: str, monkeypatch: Any) -> None:
    def plant(ptx: str) -> str:
        text, count = re.subn(*PLANTED[mistake], ptx, count=1)
        assert count == 1
        return text

    for check in ("_check_writes", "_check_reads", "_need_data"):  # what a GPU does not say
        monkeypatch.setattr(ptx_clocks.Memory, check, lambda *_: None)
    run = multiplied(FP16, (64, 32, 64), 176, True, FP32, num_stages=3)
    found, expected, _ = on_both(run, monkeypatch, "sm_90a", plant)
    assert not torch.equal(found, expected)
