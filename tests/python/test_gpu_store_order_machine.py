"""Stores to what other warps still have to load, without a GPU: run by ptx_matrix_machine.py with
its warps in many orders.
"""

from __future__ import annotations

from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import machine_backend
import pytest

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)
WARPS = pytest.mark.parametrize("warps", [1, 4])
ORDERS = range(12)  # each of these kernels was wrong in a third of them


def barriers(kernel: Any) -> int:
    return kernel.asm["ptx"].count("bar.sync")


def in_all_orders(monkeypatch: pytest.MonkeyPatch, check: Any) -> Any:
    """Runs ``check`` under many orders of the warps; returns the last kernel."""
    for seed in ORDERS:
        kernels = machine_backend.record(monkeypatch, "sm_90a", seed=seed)
        check()
    return kernels[-1]


@triton.jit
def counter_kernel(count_ptr, out_ptr, N: tl.constexpr):
    count = tl.load(count_ptr)
    tl.store(count_ptr, count + 1)
    offsets = tl.arange(0, N)
    tl.store(out_ptr + offsets, offsets + count)


@WARPS
def test_a_number_that_is_counted_up(warps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def check() -> None:
        count, out = torch.tensor([5], dtype=torch.int32), torch.zeros(256, dtype=torch.int32)
        counter_kernel[(1,)](count, out, N=256, num_warps=warps)
        assert count.item() == 6
        assert torch.equal(out, torch.arange(5, 261, dtype=torch.int32))

    assert barriers(in_all_orders(monkeypatch, check)) == (warps > 1)


@triton.jit
def row_kernel(row_ptr, out_ptr, steps, N: tl.constexpr, M: tl.constexpr):
    """A row of fewer elements than threads, changed in place; all warps use its sum."""
    offsets, all_offsets = tl.arange(0, N), tl.arange(0, M)
    for step in range(steps):
        row = tl.load(row_ptr + step * N + offsets)
        tl.store(row_ptr + step * N + offsets, row * 2)
        tl.store(out_ptr + step * M + all_offsets, all_offsets + tl.sum(row))


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_a_row_that_is_changed_in_place(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def check() -> None:
        row = torch.randint(-9, 9, (3, 32), dtype=torch.int32)
        before, out = row.clone(), torch.zeros(3, 256, dtype=torch.int32)
        row_kernel[(1,)](row, out, steps, N=32, M=256, num_warps=4)
        want = torch.arange(256) + before.sum(1, keepdim=True)
        want[steps:], before[:steps] = 0, before[:steps] * 2
        assert torch.equal(row, before)
        assert torch.equal(out, want.int())

    in_all_orders(monkeypatch, check)


@triton.jit
def taken_kernel(work_ptr, out_ptr, n, N: tl.constexpr):
    """What was taken is cleared: by one element a thread, and loaded by four."""
    offsets = tl.arange(0, N)
    taken = tl.load(work_ptr + offsets)
    tl.store(work_ptr + offsets, 0, mask=offsets < n)
    tl.store(out_ptr + offsets, taken)


def test_what_was_taken_is_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    def check() -> None:
        work = torch.arange(1, 513, dtype=torch.int32)
        out = torch.zeros_like(work)
        taken_kernel[(1,)](work, out, 509, N=512, num_warps=4)
        assert torch.equal(out, torch.arange(1, 513, dtype=torch.int32))
        assert not work[:509].any()
        assert work[509:].all()

    in_all_orders(monkeypatch, check)


@triton.jit
def added_kernel(total_ptr, out_ptr, N: tl.constexpr, SEM: tl.constexpr):
    total = tl.load(total_ptr)
    tl.atomic_add(total_ptr, 1, sem=SEM)
    offsets = tl.arange(0, N)
    tl.store(out_ptr + offsets, offsets + total)


@pytest.mark.parametrize("sem", ["relaxed", "acquire", "acq_rel"])
def test_an_atomic_behind_a_load(sem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def check() -> None:
        total, out = torch.tensor([5], dtype=torch.int32), torch.zeros(256, dtype=torch.int32)
        added_kernel[(1,)](total, out, N=256, SEM=sem, num_warps=4)
        assert total.item() == 6
        assert torch.equal(out, torch.arange(5, 261, dtype=torch.int32))

    in_all_orders(monkeypatch, check)


@triton.jit
def biased_kernel(x_ptr, bias_ptr, out_ptr, ROWS: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, N)
    places = rows[:, None] * N + columns[None, :]
    bias = tl.load(bias_ptr + columns)
    x = tl.load(x_ptr + places)
    tl.store(out_ptr + places, x + bias[None, :])


@pytest.mark.parametrize("overlap", [False, True])
def test_a_row_that_several_warps_load_is_stored(
    overlap: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bias is the first row of what the kernel stores to, by way of another argument."""

    def check() -> None:
        x = torch.randint(-9, 9, (32, 64), dtype=torch.int32)
        out = x.clone() if overlap else torch.zeros_like(x)
        bias = out[0] if overlap else x[0].clone()
        want = x + x[0]
        biased_kernel[(1,)](x, bias, out, ROWS=32, N=64, num_warps=4)
        assert torch.equal(out, want)

    kernel = in_all_orders(monkeypatch, check)
    if not overlap:
        assert kernel.data["disjoint"] == [(1, 2)]
    assert (barriers(kernel) > 0) == overlap


@triton.jit
def counted_kernel(count_ptr, next_ptr, flag_ptr, out_ptr, N: tl.constexpr):
    count = tl.load(count_ptr)
    tl.store(next_ptr, count + 1)
    tl.store(flag_ptr + count, True)
    offsets = tl.arange(0, N)
    tl.store(out_ptr + offsets, offsets + count)


@pytest.mark.parametrize("overlap", [False, True])
def test_a_number_and_the_next_one(overlap: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """One element by way of two arguments. The flags are stored through a pointer to bytes."""

    def check() -> None:
        count = torch.tensor([5], dtype=torch.int32)
        following = count if overlap else torch.zeros_like(count)
        flags, out = torch.zeros(8, dtype=torch.bool), torch.zeros(256, dtype=torch.int32)
        counted_kernel[(1,)](count, following, flags, out, N=256, num_warps=4)
        assert following.item() == 6
        assert flags.nonzero().tolist() == [[5]]
        assert torch.equal(out, torch.arange(5, 261, dtype=torch.int32))

    kernel = in_all_orders(monkeypatch, check)
    if not overlap:
        assert {(0, 1), (0, 2)} <= set(kernel.data["disjoint"])
    assert (barriers(kernel) > 0) == overlap


@triton.jit
def rotated_kernel(x_ptr, out_ptr, shift, count, N: tl.constexpr):
    """Quotients round to zero: what is left of a negative number is negative."""
    offsets = tl.arange(0, N)
    tl.store(out_ptr + offsets, tl.load(x_ptr + count + (shift + offsets) % count))


@pytest.mark.parametrize("shift", [0, 48, -16, -32, -64, -80])
def test_numbers_that_are_divided_may_be_negative(
    shift: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = machine_backend.record(monkeypatch, "sm_90a")
    count, offsets = 32, torch.arange(512)
    x, out = torch.arange(2 * count, dtype=torch.int32), torch.zeros(512, dtype=torch.int32)
    rotated_kernel[(1,)](x, out, shift, count, N=512)
    assert out.tolist() == (count + torch.fmod(shift + offsets, count)).tolist()
    is_wide = "ld.global.v4" in kernels[-1].asm["ptx"]
    assert is_wide == (shift >= 0)  # the careful kernel relies on no sign


@triton.jit
def scaled_kernel(x_ptr, N: tl.constexpr):
    """In place, each thread its own elements."""
    offsets = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets) * 3)


def test_own_elements_need_no_barrier(monkeypatch: pytest.MonkeyPatch) -> None:
    def check() -> None:
        x = torch.arange(1024, dtype=torch.int32)
        scaled_kernel[(2,)](x, N=512, num_warps=4)
        assert torch.equal(x, torch.arange(1024, dtype=torch.int32) * 3)

    assert barriers(in_all_orders(monkeypatch, check)) == 0


@triton.jit
def rows_kernel(x_ptr, n, ROWS: tl.constexpr, N: tl.constexpr):
    """In place, rows of fewer elements than threads: what the copies hold does not matter."""
    offsets = tl.arange(0, N)
    for row in range(ROWS):
        even = tl.load(x_ptr + row * n + 2 * offsets, mask=offsets < n // 2)
        odd = tl.load(x_ptr + row * n + 2 * offsets + 1, mask=offsets < n // 2)
        tl.store(x_ptr + row * n + 2 * offsets, even - odd, mask=offsets < n // 2)
        tl.store(x_ptr + row * n + 2 * offsets + 1, even + odd, mask=offsets < n // 2)


def test_what_is_only_stored_needs_no_barrier(monkeypatch: pytest.MonkeyPatch) -> None:
    def check() -> None:
        x = torch.randint(-9, 9, (3, 58), dtype=torch.int32)
        want = torch.stack([x[:, ::2] - x[:, 1::2], x[:, ::2] + x[:, 1::2]], -1).reshape(3, 58)
        rows_kernel[(1,)](x, 58, ROWS=3, N=32, num_warps=4)
        assert torch.equal(x, want)

    assert barriers(in_all_orders(monkeypatch, check)) == 0


@triton.jit
def small_rows_kernel(x_ptr, total_ptr, rows, n, WAY: tl.constexpr, N: tl.constexpr):
    columns = tl.arange(0, N)
    total = 0.0
    for row in range(rows):
        x = tl.load(x_ptr + row * n + columns, mask=columns < n, other=-float("inf"))
        while tl.max(x) > 8:
            x -= 1
        y = tl.exp(x - tl.max(x))
        tl.store(x_ptr + row * n + columns, y / tl.sum(y), mask=columns < n)
        total += tl.sum(y)
    if WAY == "store":
        tl.store(total_ptr, tl.load(total_ptr) + total)
    elif WAY == "wide":
        tl.store(total_ptr + tl.arange(0, 64), total)
    else:
        tl.atomic_add(total_ptr, total)


@pytest.mark.parametrize("warps", [2, 4])
@pytest.mark.parametrize("n", [8, 20, 32])
@pytest.mark.parametrize("way", ["store", "wide", "atomic"])
def test_small_rows_need_one_warp(
    way: str, n: int, warps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others would load what it has changed; they end where they begin, and nobody waits."""

    def check() -> None:
        torch.manual_seed(n)
        x = 4 * torch.randn(3, n)
        x[1, 2] = 12.5
        steps = (x.amax(1, keepdim=True) - 8).ceil().clamp(min=0)
        want = torch.softmax((x - steps).double(), 1)
        total = torch.ones(64)
        small_rows_kernel[(1,)](x, total, 3, n, WAY=way, N=32, num_warps=warps)
        assert torch.allclose(x.double(), want, atol=1e-6)
        sums = (1 / want.amax(1)).sum()
        counted = 0 if way == "wide" else 1
        assert torch.allclose(total[0].double(), sums + counted, rtol=1e-5)
        assert torch.equal(total[1:], total[:1].expand(63) if way == "wide" else torch.ones(63))

    kernel = in_all_orders(monkeypatch, check)
    assert ("tlg.one_warp" in kernel.asm["tlg"]) == (way == "store")
    assert (barriers(kernel) == 0) == (way == "store")
