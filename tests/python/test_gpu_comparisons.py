"""Integers and loads that the GPU compiler makes once for a run of elements (tlg.equal_runs): what
looks like a run and is none. PTX run by ptx_machine.py."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import numpy as np
import pytest
from test_gpu_machine import ARCHS, launcher

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")


def hold(
    kernel: Any, inputs: Sequence[Any], expected: Any, warps: int = 1, **constants: Any
) -> None:
    """The kernel writes what NumPy expects to its first argument, on the CPU and as PTX."""
    expected = np.asarray(expected, np.int32)
    out = np.full_like(expected, 7)
    kernel[(1,)](out, *inputs, num_warps=warps, **constants)
    np.testing.assert_array_equal(out, expected)
    for arch in ARCHS:
        out[...] = 7
        launcher(arch)(kernel, [out, *inputs], warps, constants)
        np.testing.assert_array_equal(out, expected, err_msg=arch)


@triton.jit
def narrow_sign(out_ptr, B: tl.constexpr, DTYPE: tl.constexpr):
    r = tl.arange(0, B)
    tl.store(out_ptr + r, (r.to(DTYPE) < 0).to(tl.int32))


@triton.jit
def narrow_quotient(out_ptr, B: tl.constexpr):
    r = tl.arange(0, B)
    tl.store(out_ptr + r, ((r.to(tl.int8) + 64) // 16 < -4).to(tl.int32))


@triton.jit
def narrow_then_wide(out_ptr, B: tl.constexpr):
    r = tl.arange(0, B)
    tl.store(out_ptr + r, (r.to(tl.int8).to(tl.int64) + 256 < 256).to(tl.int32))


def test_narrow_integers_change_their_sign_inside_a_range() -> None:
    r = np.arange(256)
    narrow = r.astype(np.int8).astype(int)
    hold(narrow_sign, [], narrow < 0, B=256, DTYPE=tl.int8)
    hold(narrow_sign, [], np.arange(1 << 16) >= 1 << 15, warps=8, B=1 << 16, DTYPE=tl.int16)
    hold(narrow_quotient, [], np.trunc((r + 64).astype(np.int8) / 16) < -4, B=256)
    hold(narrow_then_wide, [], narrow < 0, B=256)


@triton.jit
def masked_by_sign(out_ptr, x_ptr, B: tl.constexpr):
    r = tl.arange(0, B)
    tl.store(out_ptr + r, tl.load(x_ptr + r, mask=r.to(tl.int8) >= 0, other=-5))


def test_a_mask_of_narrow_integers() -> None:
    r = np.arange(256)
    hold(masked_by_sign, [np.arange(128, dtype=np.int32)], np.where(r < 128, r, -5), B=256)


@triton.jit
def bins(out_ptr, N: tl.constexpr, D: tl.constexpr):
    r = tl.arange(0, N)
    tl.store(out_ptr + r, (tl.histogram(r // D, N) > 0).to(tl.int32))


def test_a_histogram_is_not_as_even_as_its_input() -> None:
    hold(bins, [], np.arange(256) < 2, N=256, D=128)


@triton.jit
def quotient(out_ptr, start, B: tl.constexpr):
    r = tl.arange(0, B)
    tl.store(out_ptr + r, ((r + start) // 16 == 0).to(tl.int32))


@triton.jit
def remainder(out_ptr, start, B: tl.constexpr):
    r = tl.arange(0, B)
    tl.store(out_ptr + r, ((r + start) % 64 >= -16).to(tl.int32))


@triton.jit
def loaded_quotient(out_ptr, x_ptr, B: tl.constexpr):
    r = tl.arange(0, B)
    page = tl.load(x_ptr)
    tl.store(out_ptr + r, ((page * 16 + r) // 16 == page).to(tl.int32))


def test_quotients_of_negative_arguments_are_rounded_to_zero() -> None:
    r = np.arange(128)
    hold(quotient, [-16], np.trunc((r - 16) / 16) == 0, B=128)
    hold(quotient, [16], (r + 16) // 16 == 0, B=128)
    hold(remainder, [-64], np.fmod(r - 64, 64) >= -16, B=128)
    hold(loaded_quotient, [np.array([-1], np.int32)], np.trunc((r - 16) / 16) == -1, B=128)


@triton.jit
def rows_less(out_ptr, x_ptr, y_ptr, B: tl.constexpr, GROUP: tl.constexpr):
    i = tl.arange(0, B)[:, None]
    j = tl.arange(0, B)[None, :]
    x = tl.max_constancy(tl.load(x_ptr + i + j * 0), (1, GROUP))
    y = tl.max_constancy(tl.load(y_ptr + i + j * 0), (1, GROUP))
    tl.store(out_ptr + i * B + j, (x < y).to(tl.int32))


@pytest.mark.parametrize("group", [16, 32])
def test_a_hint_reaches_no_further_than_the_block(group: int) -> None:
    a = np.arange(16, dtype=np.int32)
    b = np.where(a % 2 == 0, a + 1, a - 1).astype(np.int32)
    hold(rows_less, [a, b], np.repeat(a < b, 16).reshape(16, 16), B=16, GROUP=group)


@triton.jit
def grouped(out_ptr, x_ptr, start, B: tl.constexpr, GROUP: tl.constexpr):
    i = tl.arange(0, B)
    at = (start + i) // GROUP
    tl.store(out_ptr + i, tl.load(x_ptr + at) + at)


@triton.jit
def grouped_or_own(out_ptr, x_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    at = i // 8
    tl.store(out_ptr + i, tl.load(x_ptr + at, mask=at < 4, other=i))


def test_what_lies_at_equal_quotients_is_loaded() -> None:
    i, x = np.arange(256), 100 * np.arange(300, dtype=np.int32)
    for start, group in ((0, 8), (16, 8), (3, 8), (0, 3)):
        at = (start + i) // group
        hold(grouped, [x, start], x[at] + at, B=256, GROUP=group)
    hold(grouped_or_own, [x], np.where(i < 32, x[i // 8], i), B=256)


def loads_of(kernel: Any, *args: Any, **constants: Any) -> int:
    ptx = kernel.warmup(*args, grid=(1,), arch="sm_90a", num_warps=1, **constants).asm["ptx"]
    return int(ptx.count("ld.global"))


def test_what_lies_at_one_address_is_loaded_once() -> None:
    out, x = (np.zeros(256, np.int32) for _ in range(2))
    # A thread has two runs of four elements; the addresses of each are computed once, too.
    assert loads_of(grouped, out, x, 0, B=256, GROUP=8) == 2
    assert loads_of(grouped_or_own, out, x, B=256) == 8  # `other` differs


@triton.jit
def sum_of_sums(out_ptr, x_ptr, N: tl.constexpr):
    i = tl.arange(0, 64)
    total = 0
    for k in tl.static_range(N):
        total += tl.sum(tl.load(x_ptr + k * 64 + i))
    tl.store(out_ptr, total)


def test_sums_are_added_up_as_they_come() -> None:
    out, x = (np.zeros(1024, np.int32) for _ in range(2))
    kernel = sum_of_sums.warmup(out, x, grid=(1,), arch="sm_90a", num_warps=2, N=16)
    behind = kernel.asm["ptx"].rpartition("bar.sync")[2]
    assert behind.count("add.s32") <= 2  # the last sum, and the sum of all


@triton.jit
def by_assembly(out_ptr, x_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i).to(tl.float32)
    y = tl.inline_asm_elementwise("neg.f32 $0, $1;", "=f,f", [x], tl.float32, True, 1)
    tl.store(out_ptr + i, y)


def test_inline_assembly_moves_nothing_between_threads() -> None:
    x, out = np.zeros(1024, np.float16), np.zeros(1024, np.float32)
    kernel = by_assembly.warmup(out, x, grid=(1,), arch="sm_90a", num_warps=4, B=1024)
    assert "shared" not in kernel.asm["ptx"]


@triton.jit
def sum_of_rows(out_ptr, x_ptr, n, N: tl.constexpr):
    i = tl.arange(0, 32)
    total = tl.zeros([32], tl.int32)
    for k in range(N if N > 0 else n):
        total += tl.load(x_ptr + k * 32 + i)
    tl.store(out_ptr + i, total)


@triton.jit
def products_of_rows(out_ptr, x_ptr, n, N: tl.constexpr):
    i = tl.arange(0, 32)
    total = tl.zeros([32], tl.int32)
    for k in range(N):
        total += tl.load(x_ptr + k * 32 + i) * tl.load(x_ptr + (N + k) * 32 + i)
    tl.store(out_ptr + i, total)


@triton.jit
def sums_of_parts(out_ptr, x_ptr, n, N: tl.constexpr):
    """As split attention puts its parts together: those without a weight are left out."""
    i = tl.arange(0, 32)
    total = tl.zeros([32], tl.int32)
    for k in range(N):
        weight = tl.load(x_ptr + k)
        if weight > 0:
            total += weight * tl.load(x_ptr + N + k * 32 + i)
    tl.store(out_ptr + i, total)


@triton.jit
def sums_in_turn(out_ptr, x_ptr, n, N: tl.constexpr):
    i = tl.arange(0, 32)
    total = 0
    for k in range(N):
        total = tl.sum(tl.load(x_ptr + k * 32 + i)) - total
    tl.store(out_ptr, total)


@triton.jit
def ranks_of_rows(out_ptr, x_ptr, n, N: tl.constexpr):
    i = tl.arange(0, 4096)
    x = tl.load(x_ptr + N + i)
    rank = tl.zeros([4096], tl.int32)
    for k in range(N):
        rank = tl.where(x > tl.load(x_ptr + k), rank + 1, rank)
    tl.store(out_ptr + i, rank)


def test_loops_of_known_length_are_unrolled_as_a_whole_or_until_eight_loads_are_together() -> None:
    out, x = (np.zeros(1 << 15, np.int32) for _ in range(2))
    assert loads_of(sum_of_rows, out, x, 8, N=8) == 8
    assert loads_of(sum_of_rows, out, x, 8, N=512) == 8
    assert loads_of(products_of_rows, out, x, 8, N=512) == 8
    assert loads_of(sums_of_parts, out, x, 8, N=512) == 8
    assert loads_of(sum_of_rows, out, x, 8, N=0) > 1


def test_short_loops_that_load_a_few_numbers_are_unrolled_as_a_whole() -> None:
    """Also those of more instructions than LLVM would unroll; not where they are very many."""
    out, x = (np.zeros(1 << 15, np.int32) for _ in range(2))
    for count in (4, 15):
        plain = ranks_of_rows.warmup(out, x, 8, N=count, grid=(1,), num_warps=8, arch="sm_90a")
        assert "bra" not in plain.asm["ptx"]
    long = ranks_of_rows.warmup(out, x, 8, N=15, grid=(1,), num_warps=1, arch="sm_90a")
    assert "bra" in long.asm["ptx"]


def test_loops_of_known_length_that_do_more_than_load_are_left_to_ptxas() -> None:
    out, x = (np.zeros(1 << 15, np.int32) for _ in range(2))
    assert loads_of(sums_in_turn, out, x, 8, N=512) == 1


@triton.jit
def sum_of_scans(out_ptr, x_ptr, N: tl.constexpr):
    i = tl.arange(0, 64)
    total = tl.zeros([64], tl.int32)
    for k in tl.static_range(N):
        x = tl.load(x_ptr + k * 64 + i)
        total += tl.where(x > 0, tl.cumsum(x), 0)
    tl.store(out_ptr + i, total)


@triton.jit
def sum_of_atomics(out_ptr, x_ptr, N: tl.constexpr):
    total = 0
    for k in tl.static_range(N):
        total += tl.atomic_add(x_ptr + k, 1) * k
    tl.store(out_ptr, total)


@pytest.mark.parametrize("kernel", [sum_of_scans, sum_of_atomics])
def test_what_one_thread_hands_on_ends_no_block_of_code(kernel: Any) -> None:
    # LLVM moves sums behind the last block of code, and what they add up stays in registers.
    out, x = (np.zeros(256, np.int32) for _ in range(2))
    compiled = kernel.warmup(out, x, grid=(1,), arch="sm_90a", num_warps=2, N=4)
    ptx = compiled.asm["ptx"]
    assert ptx.count("bar.sync") >= 4 and "bra" not in re.findall(r"\w+", ptx)
