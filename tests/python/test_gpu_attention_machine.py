"""Attention without a GPU: loops whose warpgroups go through iterations independently, run by
ptx_matrix_machine.py under several schedules, and mistakes in them that it finds.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import numpy as np
import pytest
from ptx_machine import PtxError, Schedule
from ptx_matrix_machine import Machine

torch = pytest.importorskip("torch")
ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)
HALF, BFLOAT, FP8 = torch.float16, torch.bfloat16, torch.float8_e4m3fn
SCHEDULES: dict[str, Callable[[], Schedule]] = {
    "together": Schedule,
    "first ahead": lambda: Schedule(first=0),
    "second ahead": lambda: Schedule(first=1),
    "random": lambda: Schedule(seed=3),
}


@pytest.fixture(autouse=True)
def setup(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    torch.manual_seed(7)


def value_of(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return torch.empty(0, dtype=torch.uint8).set_(value.untyped_storage()).numpy()
    return np.float32(value) if isinstance(value, float) else np.int32(value)


class Program:
    """A kernel compiled for its arguments, to be run several times."""

    def __init__(self, kernel: Any, grid: tuple[int, ...], arguments: tuple[Any, ...], warps: int,
                 stages: int, **constants: Any) -> None:  # fmt: skip
        self.grid = (*grid, 1, 1)[:3]
        self.compiled = kernel.warmup(*arguments, **constants, grid=grid, arch="sm_90a",
                                      num_warps=warps, num_stages=stages)  # fmt: skip
        assert self.compiled.warnings == []
        self.warps, self.ptx = warps, self.compiled.asm["ptx"]
        self.values = [value_of(value) for value in arguments
                       if isinstance(value, torch.Tensor) or value != 1]  # fmt: skip

    @property
    def is_independent(self) -> bool:
        """Whether warps tell by mbarriers what they have read."""
        return "mbarrier.arrive.shared" in self.ptx

    def run(self, schedule: str = "together", ptx: str | None = None) -> Machine:
        maps = self.compiled.data["tensor_maps"]
        machine = Machine(ptx or self.ptx, self.warps, maps)
        machine.schedule = SCHEDULES[schedule]()
        machine.run(self.grid, self.values, self.compiled.metadata.shared)
        return machine

    def run_all(self, results: list[tuple[Any, Any]], tolerance: float) -> None:
        """Compares what every schedule gives; where warps meet at barriers, one is enough."""
        for schedule in SCHEDULES if self.is_independent else ["random"]:
            for got, _ in results:
                got.fill_(7)
            self.run(schedule)
            for got, want in results:
                check(got, want, tolerance)


def check(got: Any, want: Any, tolerance: float) -> None:
    assert torch.isfinite(got.double()).all()
    error = (got.double() - want).abs().max().item()
    assert error <= tolerance * max(want.abs().max().item(), 1e-30)


def rand(*shape: int, dtype: Any = HALF) -> Any:
    return torch.randn(shape).to(dtype)


@triton.jit
def forward_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, heads, length, scale2,
    HEAD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """Keys of any number, also none; heads one after another."""
    rows = tl.arange(0, BM)
    features = tl.arange(0, HEAD)
    for head in range(heads):
        offsets = (head * BM + rows)[:, None] * HEAD + features[None, :]
        q = tl.load(q_ptr + offsets)
        acc = tl.zeros([BM, HEAD], dtype=tl.float32)
        sums = tl.full([BM], 1e-30, dtype=tl.float32)
        largest = tl.full([BM], -1.0e30, dtype=tl.float32)
        for start in range(0, length, BN):
            keys = start + tl.arange(0, BN)
            across = (head * length + keys)[None, :] * HEAD + features[:, None]
            along = (head * length + keys)[:, None] * HEAD + features[None, :]
            if MASKED:
                k = tl.load(k_ptr + across, mask=keys[None, :] < length, other=0.0)
            else:
                k = tl.load(k_ptr + across)
            scores = tl.dot(q, k) * scale2
            if MASKED:
                scores = tl.where(keys[None, :] < length, scores, -1.0e6)
            new = tl.maximum(largest, tl.max(scores, 1))
            weights = tl.math.exp2(scores - new[:, None])
            shrink = tl.math.exp2(largest - new)
            sums = sums * shrink + tl.sum(weights, 1)
            if MASKED:
                v = tl.load(v_ptr + along, mask=keys[:, None] < length, other=0.0)
            else:
                v = tl.load(v_ptr + along)
            acc = tl.dot(weights.to(v.dtype), v, acc * shrink[:, None])
            largest = new
        tl.store(out_ptr + offsets, acc / sums[:, None])


def forward(heads: int, length: int, block_m: int, block_n: int, stages: int = 3, warps: int = 8,
            dtype: Any = HALF) -> tuple[Program, Any, Any]:  # fmt: skip
    """The program, where its result comes and what it has to be."""
    head = 64
    q = rand(heads, block_m, head, dtype=dtype)
    k, v = (rand(heads, max(length, 1), head, dtype=dtype)[:, :length].contiguous()
            for _ in range(2))  # fmt: skip
    k, v = (x if length else torch.zeros(heads, 1, head, dtype=dtype) for x in (k, v))
    out = torch.empty(heads, block_m, head)
    program = Program(
        forward_kernel, (1,), (q, k, v, out, heads, length, 0.125 * 1.44269504), warps, stages,
        HEAD=head, BM=block_m, BN=block_n, MASKED=length % block_n != 0,
    )  # fmt: skip
    if not length:
        return program, out, torch.zeros(heads, block_m, head, dtype=torch.float64)
    scores = q.double() @ k.double().transpose(1, 2) * 0.125
    return program, out, torch.softmax(scores, 2) @ v.double()


@pytest.mark.parametrize(
    "length,heads",
    [(0, 1), (0, 3), (64, 1), (64, 3), (128, 1), (192, 2), (320, 2), (40, 2), (200, 1), (200, 2)],
)
def test_forward(length: int, heads: int) -> None:
    program, out, want = forward(heads, length, 128, 64)
    assert program.is_independent
    program.run_all([(out, want)], 4e-3)


@pytest.mark.parametrize("stages,shape,dtype", [
    (3, (128, 128), HALF), (4, (128, 128), BFLOAT), (3, (256, 64), BFLOAT), (4, (64, 64), HALF),
    (2, (128, 64), HALF),
])  # fmt: skip
def test_other_forward(stages: int, shape: Any, dtype: Any) -> None:
    program, out, want = forward(2, 384, *shape, stages, dtype=dtype)
    assert program.is_independent  # two stages get a third buffer
    program.run_all([(out, want)], 3e-2 if dtype == BFLOAT else 4e-3)


@pytest.mark.parametrize("blocks,warps", [((128, 32), 8), ((64, 32), 4)])
@pytest.mark.parametrize("length,heads", [(0, 2), (32, 1), (64, 3), (160, 2), (72, 2)])
def test_sums_are_scaled_beside_exponentials(
    length: int, heads: int, blocks: Any, warps: int
) -> None:
    """Heads of 64, 32 keys an iteration: two sums of a thread for each exponential."""
    program, out, want = forward(heads, length, *blocks, warps=warps)
    loop = program.compiled.asm["tlg"].partition("tlg.wgmma_wait 1")[2]
    assert loop.index("tlg.wgmma_wait 0") < loop.index("math.exp2")
    program.run_all([(out, want)], 4e-3)


@triton.jit
def column_sums_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, columns_ptr, length, HEAD: tl.constexpr, BM: tl.constexpr,
    BN: tl.constexpr,
):  # fmt: skip
    """Weights without a softmax; their row sums go through shared memory in every iteration."""
    rows = tl.arange(0, BM)
    features = tl.arange(0, HEAD)
    q = tl.load(q_ptr + rows[:, None] * HEAD + features[None, :])
    acc = tl.zeros([BM, HEAD], dtype=tl.float32)
    columns = tl.zeros([BN], dtype=tl.float32)
    for start in range(0, length, BN):
        keys = start + tl.arange(0, BN)
        k = tl.load(k_ptr + keys[None, :] * HEAD + features[:, None])
        weights = tl.math.exp2(tl.dot(q, k) * 0.01)
        columns += tl.sum(weights, 0)
        v = tl.load(v_ptr + keys[:, None] * HEAD + features[None, :])
        acc = tl.dot(weights.to(v.dtype), v, acc)
    tl.store(out_ptr + rows[:, None] * HEAD + features[None, :], acc)
    tl.store(columns_ptr + tl.arange(0, BN), columns)


@pytest.mark.parametrize("head,block_n,has_room", [
    (64, 64, True),
    (256, 64, False),  # a third block does not fit
    (128, 128, True),
])  # fmt: skip
def test_a_third_block_where_there_is_room(head: int, block_n: int, has_room: bool) -> None:
    q, k, v = rand(128, head), rand(2 * block_n, head), rand(2 * block_n, head)
    out, columns = torch.empty(128, head), torch.empty(block_n)
    program = Program(
        column_sums_kernel, (1,), (q, k, v, out, columns, 2 * block_n), 8, 2,
        HEAD=head, BM=128, BN=block_n,
    )  # fmt: skip
    assert program.is_independent == has_room
    assert program.compiled.metadata.shared <= 227 * 1024
    weights = torch.exp2(q.double() @ k.double().T * 0.01)
    sums = weights.sum(0).view(2, block_n).sum(0)
    program.run_all([(out, weights @ v.double()), (columns, sums)], 4e-3)


# -- the kernels of the benchmarks -----------------------------------------------------------------


@pytest.fixture(scope="module")
def kernels() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "triton", triton)
        patch.setitem(sys.modules, "triton.language", tl)
        path = ROOT / "benchmarks" / "gpu_kernels.py"
        spec = importlib.util.spec_from_file_location("gpu_kernels_of_machine", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        patch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
        yield module


class Attention:
    """Inputs, results and gradients in float64 (HEADS, LENGTH, HEAD)."""

    def __init__(self, heads: int, length: int, head: int, causal: bool, dtype: Any) -> None:
        self.q, self.k, self.v, self.d_out = (rand(heads, length, head).to(dtype) for _ in range(4))
        self.scale = head**-0.5
        self.scale2 = self.scale * 1.4426950408889634
        q, k, v = (x.double().requires_grad_() for x in (self.q, self.k, self.v))
        scores = q @ k.transpose(1, 2) * self.scale
        if causal:
            hidden = torch.ones(length, length, dtype=torch.bool).triu(1)
            scores = scores.masked_fill(hidden, float("-inf"))
        out = torch.softmax(scores, 2) @ v
        out.backward(self.d_out.double())
        self.out, self.d_q, self.d_k, self.d_v = out.detach(), q.grad, k.grad, v.grad
        self.lse = (torch.logsumexp(scores, 2) * 1.4426950408889634).detach().float()
        self.delta = (self.d_out.double() * self.out).sum(2).float()


@pytest.mark.parametrize("stages,block_n,causal", [(3, 64, True), (3, 128, False), (2, 64, True)])
def test_forward_of_benchmark(stages: int, block_n: int, causal: bool, kernels: Any) -> None:
    case = Attention(1, 384, 64, causal, HALF)
    out, lse = torch.empty_like(case.q), torch.empty(1, 384)
    program = Program(
        kernels.attention_kernel, (3, 1), (case.q, case.k, case.v, out, lse, case.scale2), 8,
        stages, LENGTH=384, HEAD=64, BLOCK_M=128, BLOCK_N=block_n, CAUSAL=causal,
    )  # fmt: skip
    assert program.is_independent
    program.run_all([(out, case.out), (lse, case.lse.double())], 4e-3)


@pytest.mark.parametrize("stages,blocks,causal,dtype", [
    (3, (64, 128), True, HALF), (3, (128, 64), False, HALF), (3, (128, 128), True, BFLOAT),
    (2, (64, 128), True, HALF),
])  # fmt: skip
def test_backward(stages: int, blocks: Any, causal: bool, dtype: Any, kernels: Any) -> None:
    case = Attention(1, 256, 64, causal, dtype)
    tolerance = 4e-2 if dtype == BFLOAT else 6e-3
    inputs = (case.q, case.k, case.v, case.d_out, case.lse, case.delta)
    d_q, d_k, d_v = (torch.empty_like(case.q) for _ in range(3))
    constants = {"LENGTH": 256, "HEAD": 64, "CAUSAL": causal}
    program = Program(
        kernels.keys_kernel, (256 // blocks[1], 1), (*inputs, d_k, d_v, case.scale, case.scale2),
        8, stages, BLOCK_M=blocks[0], BLOCK_N=blocks[1], **constants,
    )  # fmt: skip
    assert program.is_independent
    program.run_all([(d_k, case.d_k), (d_v, case.d_v)], tolerance)
    program = Program(
        kernels.queries_kernel, (256 // blocks[1], 1), (*inputs, d_q, case.scale, case.scale2),
        8, stages, BLOCK_M=blocks[1], BLOCK_N=blocks[0], **constants,
    )  # fmt: skip
    assert program.is_independent
    program.run_all([(d_q, case.d_q)], tolerance)


# -- tensor descriptors ----------------------------------------------------------------------------


@triton.jit
def descriptors_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, heads, length, scale2, HEAD: tl.constexpr, BM: tl.constexpr,
    BN: tl.constexpr, K_BY_TMA: tl.constexpr, V_BY_TMA: tl.constexpr,
):  # fmt: skip
    """One or both operands by TMA; keys beyond the end are not masked."""
    rows = tl.arange(0, BM)
    features = tl.arange(0, HEAD)
    k_desc = tl.make_tensor_descriptor(k_ptr, [heads * length, HEAD], [HEAD, 1], [BN, HEAD])
    v_desc = tl.make_tensor_descriptor(v_ptr, [heads * length, HEAD], [HEAD, 1], [BN, HEAD])
    for head in range(heads):
        offsets = (head * BM + rows)[:, None] * HEAD + features[None, :]
        q = tl.load(q_ptr + offsets)
        acc = tl.zeros([BM, HEAD], dtype=tl.float32)
        sums = tl.zeros([BM], dtype=tl.float32)
        largest = tl.full([BM], -1.0e30, dtype=tl.float32)
        for start in range(0, length, BN):
            along = (head * length + start + tl.arange(0, BN))[:, None] * HEAD + features[None, :]
            if K_BY_TMA:
                k = k_desc.load([head * length + start, 0])
            else:
                k = tl.load(k_ptr + along)
            scores = tl.dot(q, k.T) * scale2
            new = tl.maximum(largest, tl.max(scores, 1))
            weights = tl.math.exp2(scores - new[:, None])
            shrink = tl.math.exp2(largest - new)
            sums = sums * shrink + tl.sum(weights, 1)
            if V_BY_TMA:
                v = v_desc.load([head * length + start, 0])
            else:
                v = tl.load(v_ptr + along)
            acc = tl.dot(weights.to(v.dtype), v, acc * shrink[:, None])
            largest = new
        tl.store(out_ptr + offsets, acc / sums[:, None])


def forward_by_tma(heads: int, length: int, blocks: tuple[int, int], stages: int, k_by_tma: bool,
                   v_by_tma: bool, warps: int = 8) -> tuple[Program, Any, Any]:  # fmt: skip
    q = rand(heads, blocks[0], 64)
    k, v = (rand(heads, length, 64) for _ in range(2))
    out = torch.empty(heads, blocks[0], 64)
    program = Program(
        descriptors_kernel, (1,), (q, k, v, out, heads, length, 0.125 * 1.44269504), warps,
        stages, HEAD=64, BM=blocks[0], BN=blocks[1], K_BY_TMA=k_by_tma, V_BY_TMA=v_by_tma,
    )  # fmt: skip
    scores = q.double() @ k.double().transpose(1, 2) * 0.125
    return program, out, torch.softmax(scores, 2) @ v.double()


@pytest.mark.parametrize("heads,length,blocks,stages", [
    (1, 64, (128, 64), 3), (2, 320, (128, 64), 3), (1, 384, (128, 128), 3), (1, 128, (128, 64), 4),
    (2, 128, (128, 64), 2),
])  # fmt: skip
@pytest.mark.parametrize("by_tma", [(True, True), (True, False), (False, True)])
def test_descriptors(by_tma: Any, heads: int, length: int, blocks: Any, stages: int) -> None:
    program, out, want = forward_by_tma(heads, length, blocks, stages, *by_tma)
    assert program.is_independent and "cp.async.bulk.tensor" in program.ptx
    assert all(by_tma) == ("noinc" not in program.ptx)
    program.run_all([(out, want)], 4e-3)


@pytest.mark.parametrize("stages", [2, 3])
@pytest.mark.parametrize("by_tma", [(True, False), (False, True)])
def test_descriptors_with_barriers(by_tma: Any, stages: int) -> None:
    program, out, want = forward_by_tma(2, 128, (128, 64), stages, *by_tma, warps=4)
    assert not program.is_independent and "cp.async.bulk.tensor" in program.ptx
    program.run_all([(out, want)], 4e-3)


@triton.jit
def gradients_kernel(
    q_ptr, k_ptr, v_ptr, d_out_ptr, lse_ptr, delta_ptr, d_k_ptr, d_v_ptr, d_q_ptr, scale, scale2,
    LENGTH: tl.constexpr, HEAD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    DESCRIPTORS_OUT: tl.constexpr,
):  # fmt: skip
    """Of 128 keys and of 128 queries in one program: two loops, one after the other."""
    q_desc = tl.make_tensor_descriptor(q_ptr, [LENGTH, HEAD], [HEAD, 1], [BM, HEAD])
    g_desc = tl.make_tensor_descriptor(d_out_ptr, [LENGTH, HEAD], [HEAD, 1], [BM, HEAD])
    k_desc = tl.make_tensor_descriptor(k_ptr, [LENGTH, HEAD], [HEAD, 1], [BM, HEAD])
    v_desc = tl.make_tensor_descriptor(v_ptr, [LENGTH, HEAD], [HEAD, 1], [BM, HEAD])
    rows = tl.program_id(0) * BN + tl.arange(0, BN)
    own = rows[:, None] * HEAD + tl.arange(0, HEAD)[None, :]
    k = tl.load(k_ptr + own)
    v = tl.load(v_ptr + own)
    d_k = tl.zeros([BN, HEAD], dtype=tl.float32)
    d_v = tl.zeros([BN, HEAD], dtype=tl.float32)
    for start in range(0, LENGTH, BM):
        queries = start + tl.arange(0, BM)
        other_q = q_desc.load([start, 0])
        weights = tl.math.exp2(tl.dot(k, other_q.T) * scale2 - tl.load(lse_ptr + queries)[None, :])
        other_g = g_desc.load([start, 0])
        d_v = tl.dot(weights.to(other_g.dtype), other_g, d_v)
        d_scores = weights * (tl.dot(v, other_g.T) - tl.load(delta_ptr + queries)[None, :])
        d_k = tl.dot(d_scores.to(other_q.dtype), other_q, d_k)
    if DESCRIPTORS_OUT:
        out = tl.make_tensor_descriptor(d_k_ptr, [LENGTH, HEAD], [HEAD, 1], [BN, HEAD])
        out.store([tl.program_id(0) * BN, 0], (d_k * scale).to(d_k_ptr.dtype.element_ty))
    else:
        tl.store(d_k_ptr + own, (d_k * scale).to(d_k_ptr.dtype.element_ty))
    tl.store(d_v_ptr + own, d_v.to(d_v_ptr.dtype.element_ty))
    q = tl.load(q_ptr + own)
    d_out = tl.load(d_out_ptr + own)
    lse = tl.load(lse_ptr + rows)
    delta = tl.load(delta_ptr + rows)
    d_q = tl.zeros([BN, HEAD], dtype=tl.float32)
    for start in range(0, LENGTH, BM):
        other_k = k_desc.load([start, 0])
        other_v = v_desc.load([start, 0])
        weights = tl.math.exp2(tl.dot(q, other_k.T) * scale2 - lse[:, None])
        d_scores = weights * (tl.dot(d_out, other_v.T) - delta[:, None])
        d_q = tl.dot(d_scores.to(other_k.dtype), other_k, d_q)
    tl.store(d_q_ptr + own, (d_q * scale).to(d_q_ptr.dtype.element_ty))


@pytest.mark.parametrize("stages,block,out", [(3, 64, False), (3, 64, True), (2, 64, True)])
def test_backward_by_descriptors(stages: int, block: int, out: bool) -> None:
    case = Attention(1, 256, 64, False, HALF)
    d_q, d_k, d_v = (torch.empty_like(case.q) for _ in range(3))
    program = Program(
        gradients_kernel, (2,), (case.q, case.k, case.v, case.d_out, case.lse, case.delta, d_k,
        d_v, d_q, case.scale, case.scale2), 8, stages, LENGTH=256, HEAD=64, BM=block, BN=128,
        DESCRIPTORS_OUT=out,
    )  # fmt: skip
    assert "cp.async.bulk.tensor" in program.ptx and program.is_independent
    program.run_all([(d_k, case.d_k), (d_v, case.d_v), (d_q, case.d_q)], 6e-3)


# -- fp8 and bf16 ----------------------------------------------------------------------------------


@triton.jit
def fp8_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, length, HEAD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr
):
    """Values lie feature by feature, as the tensor cores take fp8."""
    rows = tl.arange(0, BM)
    features = tl.arange(0, HEAD)
    q = tl.load(q_ptr + rows[:, None] * HEAD + features[None, :])
    acc = tl.zeros([BM, HEAD], dtype=tl.float32)
    for start in range(0, length, BN):
        keys = start + tl.arange(0, BN)
        k = tl.load(k_ptr + keys[None, :] * HEAD + features[:, None])
        weights = tl.dot(q, k) * 0.125
        v = tl.load(v_ptr + features[None, :] * length + keys[:, None])
        acc = tl.dot(weights.to(v.dtype), v, acc)
    tl.store(out_ptr + rows[:, None] * HEAD + features[None, :], acc)


@pytest.mark.parametrize("length", [64, 128, 320])
@pytest.mark.parametrize("dtype", [FP8, torch.float8_e5m2, BFLOAT])
def test_operands_of_bytes(dtype: Any, length: int) -> None:
    q, k, v = rand(128, 64, dtype=dtype), rand(length, 64, dtype=dtype), rand(64, length)
    v = v.to(dtype)
    out = torch.empty(128, 64)
    program = Program(fp8_kernel, (1,), (q, k, v, out, length), 8, 3, HEAD=64, BM=128, BN=64)
    assert program.is_independent
    weights = (q.double() @ k.double().T * 0.125).to(dtype)
    program.run_all([(out, weights.double() @ v.double().T)], 1e-2)


# -- mistakes that the machine finds ---------------------------------------------------------------

WAIT = r"\{\.reg \.pred p; wait: mbarrier\.try_wait[^}]*\}"
ARRIVE = (
    r"add\.s32 \t%r\d+, %r\d+, \d+;(?:\s|//[^\n]*)*bar\.warp\.sync[^@]*"
    r"@%p\d+ mbarrier\.arrive[^;]*;"
)


def edit(loop: str, pattern: str, change: Callable[[re.Match[str]], str], which: int = 0) -> str:
    match = list(re.finditer(pattern, loop))[which]
    return loop[: match.start()] + change(match) + loop[match.end() :]


def without(pattern: str, which: int = 0) -> Callable[[str], str]:
    return lambda loop: edit(loop, pattern, lambda _: "", which)


def moved(pattern: str, before: str, which: int = 0) -> Callable[[str], str]:
    """What is found comes before something else, or behind it if it was before."""

    def change(loop: str) -> str:
        found = list(re.finditer(pattern, loop))[which]
        (place,) = re.finditer(before, loop)
        if place.start() < found.start():
            return (loop[: place.start()] + found[0] + "\n" + loop[place.start() : found.start()]
                    + loop[found.end() :])  # fmt: skip
        return (loop[: found.start()] + loop[found.end() : place.end()] + "\n" + found[0]
                + loop[place.end() :])  # fmt: skip

    return change


def other_parity(which: int) -> Callable[[str], str]:
    def change(match: re.Match[str]) -> str:
        text = re.sub(r", (%r\d+);", r", %rNew;", match[0])
        (parity,) = re.findall(r", (%r\d+);", match[0])
        return f"xor.b32 %rNew, {parity}, 1;\n{text}"

    return lambda loop: edit(loop, WAIT, change, which)


def without_a_warp(loop: str) -> str:
    return edit(
        loop, r"@(%p\d+) (mbarrier\.arrive)",
        lambda m: f"setp.lt.u32 %pNew, %tid.x, 224;\n"
                  f"and.pred %pNew, %pNew, {m[1]};\n@%pNew {m[2]}",
    )  # fmt: skip


def refilled_early(loop: str) -> str:
    """Into the buffer that this iteration reads."""
    (slot,) = re.findall(r"selp\.b32 \t%r\d+, 0, %r\d+, %p\d+;", loop)
    current = re.findall(r"add\.s32 \t(%r\d+), (%r\d+), 1;", loop)
    read = next(source for target, source in current if f" {target}," in slot)
    start = list(re.finditer(WAIT, loop))[1].end()
    return loop[:start] + edit(
        loop[start:], r"shl\.b32 \t(%r\d+), %r\d+, 13;", lambda m: f"shl.b32 \t{m[1]}, {read}, 13;"
    )


COPIED = r"@%p\d+ cp\.async\.mbarrier\.arrive[^;]*;"
LAST_WAIT = r"wgmma\.wait_group\.sync\.aligned 0;"
BROKEN: dict[str, tuple[Callable[[str], str], str]] = {
    "no wait for what was read": (without(WAIT, 1), "just read by 'wgmma"),
    "no wait for what has come": (without(WAIT), "a read of what nobody has written"),
    "a warp does not arrive": (without_a_warp, "nothing ends the wait"),
    "the other parity of what has come": (other_parity(0), "a read of what nobody has written"),
    "the other parity of what was read": (other_parity(1), "nothing ends the wait"),
    "arrival before dots end": (moved(ARRIVE, LAST_WAIT), "just read by 'wgmma"),
    "refill before the wait": (moved(WAIT, COPIED, 1), "just read by 'wgmma"),
    "refill of the block that is read": (refilled_early, "just read by 'wgmma"),
    "no arrival of copies": (without(COPIED), "nothing ends the wait"),
}


@pytest.fixture(scope="module")
def correct() -> Iterator[Program]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BLOCKSCOPE_CACHE", "0")
        torch.manual_seed(7)
        program, out, want = forward(1, 320, 128, 64)
        program.run()
        check(out, want, 4e-3)
        yield program


BROKEN_BY_TMA: dict[str, tuple[Callable[[str], str], str]] = {
    "no wait for what was read": (without(WAIT, 1), "just read by 'wgmma"),
    "no wait for what has come": (without(WAIT), "a read of what nobody has written"),
    "a warp does not arrive": (without_a_warp, "nothing ends the wait"),
    "arrival before dots end": (moved(ARRIVE, LAST_WAIT), "just read by 'wgmma"),
}


@pytest.fixture(scope="module")
def by_tma() -> Iterator[Program]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BLOCKSCOPE_CACHE", "0")
        torch.manual_seed(7)
        program, out, want = forward_by_tma(1, 320, (128, 64), 3, True, True)
        program.run()
        check(out, want, 4e-3)
        yield program


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", BROKEN_BY_TMA)
def test_mistakes_with_tma_are_found(name: str, schedule: str, by_tma: Program) -> None:
    change, message = BROKEN_BY_TMA[name]
    broken = changed_loop(by_tma.ptx, change)
    assert broken != by_tma.ptx
    with pytest.raises(PtxError, match=message):
        by_tma.run(schedule, broken)


def changed_loop(ptx: str, change: Callable[[str], str]) -> str:
    """The innermost loop in which warps arrive, changed."""
    loops = []
    for label in re.finditer(r"(\$L__BB0_\d+):\n", ptx):
        for back in re.finditer(rf"bra(\.uni)? \t{re.escape(label[1])};", ptx):
            if "mbarrier.arrive.shared" in ptx[label.start() : back.end()]:
                loops.append((back.end() - label.start(), label.start(), back.end()))
    _, start, end = min(loops)
    return ptx[:start] + change(ptx[start:end]) + ptx[end:]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", BROKEN)
def test_mistakes_are_found(name: str, schedule: str, correct: Program) -> None:
    change, message = BROKEN[name]
    broken = changed_loop(correct.ptx, change)
    assert broken != correct.ptx
    with pytest.raises(PtxError, match=message):
        correct.run(schedule, broken)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_warp_too_few_is_found(schedule: str, correct: Program) -> None:
    """Phases end without the last warp."""
    broken = changed_loop(correct.ptx, without_a_warp)
    broken = re.sub(r"(mbarrier\.init[^,]*), 8;", r"\1, 7;", broken)
    with pytest.raises(PtxError, match="just read by 'wgmma"):
        correct.run(schedule, broken)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_phase_too_short_is_found(schedule: str, correct: Program) -> None:
    """Phases end when half of the copies have come."""
    broken = re.sub(r"(mbarrier\.init[^,]*), 256;", r"\1, 128;", correct.ptx)
    with pytest.raises(PtxError, match="arrive|nobody|expected|phase"):
        correct.run(schedule, broken)


# -- phases ----------------------------------------------------------------------------------------

PHASES = """
.visible .entry phases()
{
	mov.u32 %r1, %tid.x;
	setp.ne.u32 %p1, %r1, 0;
	mov.b32 %r2, shared_memory;
	@%p1 bra $L_made;
	mbarrier.init.shared::cta.b64 [%r2], 1;
$L_made:
	bar.sync 0;
	@%p1 bra $L_other;
	CODE
$L_other:
	bar.sync 0;
	mbarrier.try_wait.parity.shared::cta.b64 [%r2], 0;
	mbarrier.try_wait.parity.shared::cta.b64 [%r2], PARITY;
	ret;
}
"""
COME = "mbarrier.arrive.shared::cta.b64 _, [%r2];"


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    "code,parity,message",
    [
        ("", 1, "nothing ends the wait"),
        (COME, 1, "nothing ends the wait"),
        (COME, 0, "a wait for phase 2 or 0 of an mbarrier, expected 1"),
        (2 * COME, 1, "2 phases are over for a wait for 0"),
        (3 * COME, 1, "3 phases are over for a wait for 0"),
    ],
)
def test_phases(code: str, parity: int, message: str, schedule: str) -> None:
    """Each thread waits for all phases, none so late that two look the same."""
    ptx = PHASES.replace("CODE", code).replace("PARITY", str(parity))
    machine = Machine(ptx, 8)
    machine.schedule = SCHEDULES[schedule]()
    with pytest.raises(PtxError, match=message):
        machine.run((1, 1, 1), (), 16)
