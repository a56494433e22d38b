"""Fields of rows that are loaded or stored one by one (gpu_backend/passes/joined_accesses): one
instruction for several of them, with the results of each by itself. Run by ptx_machine.py.
"""

from __future__ import annotations

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import numpy as np
import ptx_machine
import pytest

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)


@triton.jit
def fields(x_ptr, out_ptr, n, ROW: tl.constexpr, STEP: tl.constexpr, N: tl.constexpr):
    """In steps of STEP through each row, which has an odd number for ROW."""
    i = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.load(x_ptr + i, mask=i < n, other=0)
    for k in tl.static_range(ROW):
        tl.store(out_ptr + i * ROW + k * STEP % ROW, x + k, mask=i < n)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.int8])
@pytest.mark.parametrize(("row", "step"), [(4, 3), (8, 5), (12, 1), (28, 3), (6, 5), (3, 1)])
def test_fields_of_rows(monkeypatch: pytest.MonkeyPatch, dtype: type, row: int, step: int) -> None:
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    n = 200
    x = np.random.default_rng(0).integers(-50, 50, n).astype(dtype)
    out = np.full(n * row + 16, 99, dtype)
    compiled = fields.warmup(x, out, n, row, step, 128, grid=(2,), arch="sm_90a", num_warps=2)
    ptx_machine.run(compiled, [x, out, n], grid=(2, 1, 1))
    want = np.empty((n, row), dtype)
    for k in range(row):
        want[:, k * step % row] = x + dtype(k)
    np.testing.assert_array_equal(out[: n * row], want.reshape(-1))
    assert (out[n * row :] == 99).all()
    wide = "st.global.v" in compiled.asm["ptx"] or "st.global.b32" in compiled.asm["ptx"]
    # Rows of 28 may overlap in steps of 4, as far as is known, and fields are out of order.
    assert wide or row in (3, 28) or dtype == np.int8


@triton.jit
def overlapping(out_ptr, n, N: tl.constexpr):
    """What a row stores first, the row before it stores later: that stays."""
    i = tl.arange(0, N)
    mask = i < n
    tl.store(out_ptr + 2 * i, i, mask=mask)
    tl.store(out_ptr + 2 * i + 2, i + 1000, mask=mask)
    tl.store(out_ptr + 2 * i + 1, i + 2000, mask=mask)
    tl.store(out_ptr + 2 * i + 3, i + 3000, mask=mask)


def test_rows_that_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread has two rows, so what it stores to one place is in the order of the stores."""
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    n, size = 60, 64
    out = np.zeros(2 * size + 8, np.int32)
    compiled = overlapping.warmup(out, n, size, grid=(1,), arch="sm_90a", num_warps=1)
    ptx_machine.run(compiled, [out, n])
    want = np.zeros_like(out)
    i = np.arange(n)
    for at, add in ((0, 0), (2, 1000), (1, 2000), (3, 3000)):
        want[2 * i + at] = i + add
    within = 2 * i[i % 2 == 1]  # rows of one thread are i and i + 1, for even i
    np.testing.assert_array_equal(out[within], want[within])
    assert out[0] == 0 and (out[2 * n + 2 :] == 0).all()


@triton.jit
def read_fields(x_ptr, out_ptr, n, ROW: tl.constexpr, STEP: tl.constexpr, N: tl.constexpr):
    """In steps of STEP through each row; what is not there counts as 7."""
    i = tl.program_id(0) * N + tl.arange(0, N)
    total = tl.zeros([N], tl.float32)
    for k in tl.static_range(ROW):
        x = tl.load(x_ptr + i * ROW + k * STEP % ROW, mask=i < n, other=7)
        total += x.to(tl.float32) * (k + 1)
    tl.store(out_ptr + i, total)


@pytest.mark.parametrize("warps", [1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.int8])
@pytest.mark.parametrize(("row", "step"), [(2, 1), (4, 3), (8, 5), (12, 1), (28, 3), (3, 1)])
def test_read_fields_of_rows(
    monkeypatch: pytest.MonkeyPatch, dtype: type, row: int, step: int, warps: int
) -> None:
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    n = 200
    x = np.random.default_rng(0).integers(-50, 50, n * row).astype(dtype)
    out = np.full(256, 99, np.float32)
    compiled = read_fields.warmup(
        x, out, n, row, step, 128, grid=(2,), arch="sm_90a", num_warps=warps
    )
    ptx_machine.run(compiled, [x, out, n], grid=(2, 1, 1))
    want = np.full(256, 7 * sum(range(1, row + 1)), np.float32)
    weights = np.empty(row)
    weights[[k * step % row for k in range(row)]] = range(1, row + 1)
    want[:n] = x.reshape(n, row).astype(np.float64) @ weights
    np.testing.assert_array_equal(out, want)
    loads = compiled.asm["ptx"].count("ld.global")
    joined = min(16 // x.itemsize, row & -row)
    if joined * x.itemsize >= 4:
        assert loads == row // joined * 4 // warps
    else:
        assert loads == row * 4 // warps


@triton.jit
def turned_pairs(x_ptr, cos_ptr, N: tl.constexpr):
    """In place: what is stored in between is not read too early."""
    i = tl.arange(0, N)
    mask = i < N - 3
    a = tl.load(x_ptr + 2 * i, mask=mask, other=0)
    b = tl.load(x_ptr + 2 * i + 1, mask=mask, other=0)
    c = tl.load(cos_ptr + i)
    tl.store(x_ptr + 2 * i, b * c, mask=mask)
    tl.store(x_ptr + 2 * i + 1, a, mask=mask)
    a = tl.load(x_ptr + 2 * i, mask=mask, other=0)
    tl.store(x_ptr + 2 * i, a + 1, mask=mask)
    b = tl.load(x_ptr + 2 * i + 1, mask=mask, other=0)
    tl.store(x_ptr + 2 * i + 1, b + 1, mask=mask)


def test_pairs_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    n = 64
    x = np.random.default_rng(1).integers(-50, 50, (n, 2)).astype(np.float32)
    c = np.arange(n, dtype=np.float32)
    want = x.copy()
    want[: n - 3] = np.stack([x[:, 1] * c + 1, x[:, 0] + 1], 1)[: n - 3]
    compiled = turned_pairs.warmup(x, c, n, grid=(1,), arch="sm_90a", num_warps=2)
    flat = x.reshape(-1)
    ptx_machine.run(compiled, [flat, c])
    np.testing.assert_array_equal(flat.reshape(n, 2), want)
    ptx = compiled.asm["ptx"]
    assert ptx.count("ld.global.v2.b32") == 1 and ptx.count("ld.global") == 4


@triton.jit
def stored_around(y_ptr, x_ptr, steps, WAY: tl.constexpr, N: tl.constexpr):
    """One field of each pair before a branch or a loop, the other one in it; a sum loaded before
    what is stored over it, and used in it."""
    i = tl.arange(0, N)
    x = tl.load(x_ptr)
    tl.store(x_ptr, 7)
    tl.store(y_ptr + 2 * i + 1, i)
    if WAY == "if":
        if steps > 3:
            tl.store(y_ptr + 2 * i, i + x)
    elif WAY == "else":
        if steps <= 3:
            tl.store(x_ptr + 1, 3)
        else:
            tl.store(y_ptr + 2 * i, i + x)
    elif WAY == "for":
        for _ in range(steps - 3):
            tl.store(y_ptr + 2 * i, i + x)
    else:
        while steps > 3:
            tl.store(y_ptr + 2 * i, i + x)
            steps -= 1


@pytest.mark.parametrize("steps", [0, 3, 5])
@pytest.mark.parametrize("way", ["if", "else", "for", "while"])
def test_stores_stay_in_their_branch_and_loads_before_it(
    monkeypatch: pytest.MonkeyPatch, way: str, steps: int
) -> None:
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    n = 64
    y, x = np.full((n, 2), -1, np.int32), np.array([1000, 0], np.int32)
    flat = y.reshape(-1)
    compiled = stored_around.warmup(flat, x, steps, way, n, grid=(1,), arch="sm_90a", num_warps=2)
    ptx_machine.run(compiled, [flat, x, steps])
    np.testing.assert_array_equal(y[:, 1], np.arange(n))
    np.testing.assert_array_equal(y[:, 0], np.arange(n) + 1000 if steps > 3 else -1)
    assert x[0] == 7
