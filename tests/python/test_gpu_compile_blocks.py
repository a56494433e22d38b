"""Which instructions reductions, scans, sorts, atomics and conversions compile to."""

from __future__ import annotations

import re
from typing import Any

import block_checks as checks
import blockscope as triton
import blockscope.language as tl
import gpu_rows
import pytest
from blockscope.language.core import builtin

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")


def ptx(
    kernel: Any, *arguments: Any, arch: str = "sm_90a", warps: int = 4, **constants: Any
) -> str:
    result = kernel.warmup(*arguments, **constants, grid=(1,), arch=arch, num_warps=warps)
    assert result.warnings == []
    return result.asm["ptx"]


def count(text: str, pattern: str) -> int:
    return len(re.findall(pattern, text))


BARRIER = r"bar(rier)?\.(cta\.)?sync"


def mapped(call: Any, dtype: Any, shape: Any = (1024,), **options: Any) -> str:
    out = options.pop("out", dtype)
    return ptx(
        checks.map_kernel, dtype, out, CALL=builtin(call), SHAPE=shape, FLIP=False, **options
    )


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize(
    ("call", "name"), [(tl.sum, "add"), (tl.max, "max"), (tl.min, "min"), (tl.xor_sum, "xor")]
)
def test_integers_over_a_warp_in_one_instruction(call: Any, name: str, arch: str) -> None:
    text = mapped(lambda x: call(x, 0), tl.int32, arch=arch)
    assert count(text, rf"redux\.sync\.{name}\.[sub]32") == 1
    assert count(text, r"shfl\.sync") == 0
    assert count(text, BARRIER) == 1


def test_sums_of_floats_take_five_shuffles_and_one_barrier() -> None:
    text = mapped(lambda x: tl.sum(x, 0), tl.float32)
    assert count(text, r"shfl\.sync\.bfly") == 5
    assert count(text, BARRIER) == 1
    assert count(mapped(lambda x: tl.sum(x, 0), tl.float32, warps=1), BARRIER) == 0


@triton.jit
def mean_of_two(a, b):
    return (a + b) / 2


@triton.jit
def rounded_product(a, b):
    return a + b + a * b


@triton.jit
def reduced_kernel(x_ptr, out_ptr, COMBINE: tl.constexpr):
    i = tl.arange(0, 32)
    tl.store(out_ptr + tl.arange(0, 1), tl.reduce(tl.load(x_ptr + i)[None, :], 1, COMBINE))


def test_lanes_pass_a_result_on_only_where_it_may_differ_by_rounding() -> None:
    def shuffles(combine: Any) -> int:
        text = ptx(reduced_kernel, tl.float32, tl.float32, COMBINE=combine, warps=1)
        return count(text, r"shfl\.sync")

    assert shuffles(mean_of_two) == 5
    assert shuffles(rounded_product) == 6


def test_ties_take_no_more_exchanges_where_any_index_will_do() -> None:
    def shuffles(left: bool) -> int:
        call = lambda x: tl.argmin(x.reshape(4, 256), 1, tie_break_left=left)  # noqa: E731
        return count(mapped(call, tl.float32, out=tl.int32), r"shfl\.sync")

    assert shuffles(False) == shuffles(True)


def test_a_row_in_one_lane_needs_no_shuffle() -> None:
    text = mapped(lambda x: tl.sum(x.reshape(256, 4), 1), tl.float32, out=tl.float32)
    assert count(text, r"shfl\.sync") == 0


@triton.jit
def three_sums_kernel(x_ptr, out_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    y = x / tl.sum(x)
    z = y / tl.max(y)
    tl.store(out_ptr, tl.sum(z))


def test_reductions_in_a_row_have_one_barrier_each() -> None:
    assert count(ptx(three_sums_kernel, tl.float32, tl.float32, N=512), BARRIER) == 3


def atomic(kind: Any, dtype: Any, *, sem: str, keep: bool, arch: str = "sm_90a") -> str:
    return ptx(
        checks.atomic_kernel, dtype, tl.int32, dtype, dtype, 100, KIND=kind, SEM=sem, SCOPE="gpu",
        N=128, KEEP=keep, arch=arch,
    )  # fmt: skip


def test_atomics_without_a_result_are_reductions_where_nothing_is_acquired() -> None:
    relaxed = atomic(tl.atomic_add, tl.float32, sem="relaxed", keep=False)
    assert count(relaxed, r"red\.relaxed\.gpu\.global\.add\.f32") == 1
    assert count(relaxed, BARRIER) == 0
    assert "red.release.gpu" in atomic(tl.atomic_or, tl.int32, sem="release", keep=False)
    for sem, order in {"acq_rel": "release", "acquire": "relaxed"}.items():
        assert f"red.{order}.gpu" in atomic(tl.atomic_add, tl.int32, sem=sem, keep=False)
    assert "atom.relaxed.gpu" in atomic(tl.atomic_add, tl.int32, sem="relaxed", keep=True)


def test_orders_meet_the_other_threads() -> None:
    for sem, barriers in {"relaxed": 0, "acquire": 1, "release": 1, "acq_rel": 2}.items():
        text = atomic(tl.atomic_max, tl.uint64, sem=sem, keep=True)
        assert count(text, rf"atom\.{sem}\.gpu\.global\.max\.u64") == 1
        assert count(text, BARRIER) == barriers


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
def test_atomic_loads_and_stores_are_one_instruction_with_their_order(arch: str) -> None:
    for dtype, bits in [(tl.int1, 8), (tl.float16, 16), (tl.int32, 32), (tl.float64, 64)]:
        text = ptx(checks.move_kernel, dtype, tl.int32, dtype, 100, SEM="relaxed", SCOPE="sys",
                   N=128, arch=arch)  # fmt: skip
        assert count(text, rf"ld\.relaxed\.sys\.global\.b{bits}") == 1
        assert count(text, rf"st\.relaxed\.sys\.global\.b{bits}") == 1
        assert count(text, rf"ld\.acquire\.gpu\.global\.b{bits}") == 1  # of one element
        assert count(text, rf"st\.release\.gpu\.global\.b{bits}") == 1
        assert count(text, r"\b(atom|red)\.") == 0


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
def test_a_poll_loops_over_an_acquiring_load(arch: str) -> None:
    text = ptx(checks.poll_kernel, tl.int32, tl.int32, N=128, arch=arch)
    assert count(text, r"ld\.acquire\.gpu\.global\.b32") >= 2
    assert count(text, r"%globaltimer") >= 2


def test_float_extremes_loop() -> None:
    text = atomic(tl.atomic_max, tl.float32, sem="relaxed", keep=True)
    assert "atom.relaxed.gpu.global.cas.b32" in text


@pytest.mark.parametrize(
    ("dtype", "arch", "instruction"),
    [
        (tl.float16, "sm_80", "add.noftz.f16"),
        (tl.bfloat16, "sm_90a", "add.noftz.bf16"),
        (tl.bfloat16, "sm_80", "cas.b16"),
        (tl.float64, "sm_80", "add.f64"),
    ],
)
def test_sums_of_floats(dtype: Any, arch: str, instruction: str) -> None:
    assert instruction in atomic(tl.atomic_add, dtype, sem="relaxed", keep=True, arch=arch)


def test_conversions_in_a_warp_shuffle() -> None:
    text = ptx(checks.transpose_kernel, tl.float32, tl.float32, R=8, C=8, warps=1)
    assert count(text, BARRIER) == 0


def test_a_conversion_has_one_barrier() -> None:
    text = ptx(checks.transpose_kernel, tl.float16, tl.float16, R=64, C=64)
    assert count(text, BARRIER) == 1
    assert count(text, r"st\.shared\.v[24]|stmatrix") > 0


@triton.jit
def swap_in_hypercube(x_ptr, out_ptr, RANK: tl.constexpr):
    at = tl.arange(0, 2**RANK)
    x = tl.load(x_ptr + at).reshape([2] * RANK)
    for axis in tl.static_range(RANK):
        y = tl.flip(x, axis)
        x = tl.where(x > y, y, x)
    tl.store(out_ptr + at, x.reshape(2**RANK))


@pytest.mark.parametrize("rank", [5, 6, 9])
def test_blocks_of_many_dimensions(rank: int) -> None:
    assert count(ptx(swap_in_hypercube, tl.float32, tl.float32, RANK=rank), r"\bst\.global") > 0
