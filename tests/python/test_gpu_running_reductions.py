"""Variables of loops that are combined with reductions, for which threads meet behind the loop:
run by ptx_machine.py, which takes a missing barrier for an error."""

from __future__ import annotations

import re
from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import numpy as np
import pytest
from machine_backend import run

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)


def reductions_in_loops(compiled: Any) -> list[bool]:
    """For each reduction of a kernel whose loops are not nested, whether it is in a loop."""
    found, depth = [], 0
    for line in compiled.asm["tlg"].splitlines():
        depth += line.count("scf.for")
        if "tl.reduce" in line:
            found.append(depth > 0)
        if line.strip().startswith("scf.yield"):
            depth -= 1
    return found


@triton.jit(do_not_specialize=["n"])
def rows(x_ptr, most_ptr, sum_ptr, all_ptr, n, R: tl.constexpr, C: tl.constexpr):
    """Each row's maximum and sum, with the maximum as a column, and the sum of all."""
    i = tl.arange(0, R)
    most = tl.full((R, 1), -2.0, tl.float32)
    total = tl.full((R,), 0.5, tl.float32)
    everything = 0.25
    for begin in range(0, n, C):
        j = begin + tl.arange(0, C)
        x = tl.load(x_ptr + i[:, None] * n + j, mask=j < n, other=-3.0)
        most = tl.maximum(most, tl.max(x, 1, keep_dims=True))
        x = tl.where(j < n, x, 0.0)
        total += tl.sum(x, 1)
        everything = tl.sum(x) + everything
    tl.store(most_ptr + i[:, None], most)
    tl.store(sum_ptr + i, total)
    tl.store(all_ptr, everything)


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("columns", [16, 128])
@pytest.mark.parametrize("n", [0, 5, 128, 300])
def test_rows(n: int, columns: int, warps: int) -> None:
    random = np.random.default_rng(n)
    x = random.integers(-8, 9, (16, n)).astype(np.float32)
    given = x if n else np.zeros(1, np.float32)
    most, total, everything = (np.full(s, 7, np.float32) for s in (16, 16, 1))
    run(rows, [given, most, total, everything, n], {"R": 16, "C": columns}, num_warps=warps)
    np.testing.assert_array_equal(most, np.maximum(x.max(1, initial=-2), -2))
    np.testing.assert_array_equal(total, x.sum(1) + np.float32(0.5))
    assert everything[0] == x.sum() + 0.25


@triton.jit(do_not_specialize=["n"])
def integers(x_ptr, out_ptr, n, C: tl.constexpr):
    """What of all has an identity, of signed and unsigned numbers."""
    least, most, bits, odd = 100, -100, 0, 0
    high = tl.full((), 3, tl.uint32)
    for begin in range(0, n, C):
        j = begin + tl.arange(0, C)
        x = tl.load(x_ptr + j, mask=j < n, other=1)
        least = tl.minimum(least, tl.min(x, 0))
        most = tl.maximum(most, tl.max(x, 0))
        high = tl.maximum(high, tl.max(x.to(tl.uint32, bitcast=True), 0))
        odd ^= tl.xor_sum(tl.where(j < n, x, 0), 0)
        bits += tl.sum(tl.where(j < n, x, 0), 0)
    tl.store(out_ptr, least)
    tl.store(out_ptr + 1, most)
    tl.store(out_ptr + 2, bits)
    tl.store(out_ptr + 3, odd)
    tl.store(out_ptr + 4, high.to(tl.int32, bitcast=True))


@pytest.mark.parametrize("n", [0, 1, 77, 256])
def test_integers(n: int) -> None:
    x = np.random.default_rng(n).integers(-90, 91, max(n, 1)).astype(np.int32)
    out = np.zeros(5, np.int32)
    run(integers, [x, out, n], {"C": 64}, num_warps=2)
    part = x[:n]
    with_others = np.append(part, np.int32(1)) if n % 64 else part  # what masked elements are
    least = with_others.min(initial=100)
    most = with_others.max(initial=-100)
    high = int(with_others.view(np.uint32).max(initial=3).astype(np.int32))
    assert out.tolist() == [least, most, part.sum(), np.bitwise_xor.reduce(part, initial=0), high]


@triton.jit(do_not_specialize=["n"])
def begins_with(x_ptr, out_ptr, n, C: tl.constexpr):
    most = tl.load(out_ptr)
    for begin in range(0, n, C):
        j = begin + tl.arange(0, C)
        most = tl.maximum(most, tl.max(tl.load(x_ptr + j), 0))
    tl.store(out_ptr, most)


def test_a_variable_that_may_begin_with_nan_is_reduced_in_the_loop() -> None:
    out = np.full(1, np.nan, np.float32)
    compiled = run(begins_with, [np.ones(64, np.float32), out, 0], {"C": 64})
    assert np.isnan(out[0])
    assert reductions_in_loops(compiled) == [True]


@triton.jit(do_not_specialize=["n"])
def total_of_all(x_ptr, out_ptr, n, C: tl.constexpr):
    total = 0.0
    for begin in range(0, n, C):
        total += tl.sum(tl.load(x_ptr + begin + tl.arange(0, C)), 0)
    tl.store(out_ptr, total)


@triton.jit(do_not_specialize=["n"])
def total_so_far(x_ptr, out_ptr, n, C: tl.constexpr):
    total = 0.0
    for begin in range(0, n, C):
        total += tl.sum(tl.load(x_ptr + begin + tl.arange(0, C)), 0)
        tl.store(out_ptr + begin // C, total)


@pytest.mark.parametrize(("kernel", "is_behind"), [(total_of_all, True), (total_so_far, False)])
def test_threads_meet_behind_the_loop(kernel: Any, is_behind: bool) -> None:
    x = np.arange(1024, dtype=np.float32)
    out = np.zeros(4, np.float32)
    compiled = run(kernel, [x, out, 1024], {"C": 256}, num_warps=8)
    if is_behind:
        assert out[0] == x.sum()
    else:
        np.testing.assert_array_equal(out, x.reshape(4, 256).sum(1).cumsum())
    assert reductions_in_loops(compiled)[-1] is not is_behind


@triton.jit
def total_of_a_row(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, C: tl.constexpr):
    row = tl.program_id(0)
    if row < M:
        total = 0.0
        for begin in range(0, N, C):
            j = begin + tl.arange(0, C)
            x = tl.load(x_ptr + (row * N + j), mask=j < N, other=0.0)
            total += tl.sum(x * x + 1, 0)
        tl.store(out_ptr + row, total)


def test_ptxas_learns_how_often_a_loop_runs() -> None:
    """Its exit tests what the counter is next: else ptxas does not unroll the loop."""
    x, out = np.zeros(1, np.float32), np.zeros(1, np.float32)
    compiled = total_of_a_row.warmup(x, out, M=4096, N=11008, C=1024, grid=(1,), arch="sm_90a")
    loop = re.search(
        r"add\.s32\s+(%r\d+), %r\d+, 1024;.*setp\.lt\.[us]32\s+(%p\d+), (%r\d+), \d+;.*@\2 bra",
        compiled.asm["ptx"],
        re.DOTALL,
    )
    assert loop
    assert loop[1] == loop[3]
