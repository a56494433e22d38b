"""Tiles with more elements for a thread than there are registers: values are made late and used up
early (gpu_backend/codegen/late_values), the results stay. Run by ptx_machine.py.
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
def part_sum(x_ptr, out_ptr, first, last, M: tl.constexpr, N: tl.constexpr):
    i, j, k = tl.arange(0, M)[:, None, None], tl.arange(0, N)[None, :, None], tl.arange(0, N)
    k = k[None, None, :]
    mask = (i >= first) & (i < last) & (j >= first) & (j < last) & (k >= first) & (k < last)
    x = tl.load(x_ptr + i * (N * N) + j * N + k, mask=mask, other=0).to(tl.int64)
    tl.store(out_ptr, tl.sum(tl.sum(tl.sum(tl.where(mask, x, 0), 2), 1), 0))


def test_a_long_sum_spills_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """256 elements a thread, of 64 bits when they are added: twice the registers there are.
    Written op by op they took 304 words of local memory."""
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    m, n, first, last = 32, 32, 3, 30
    x = np.random.default_rng(0).integers(-(2**31), 2**31, (m, n, n), dtype=np.int32)
    out = np.zeros(1, np.int64)
    compiled = part_sum.warmup(x, out, first, last, m, n, grid=(1,), arch="sm_90a", num_warps=4)
    ptx_machine.run(compiled, [x, out, first, last])
    assert out[0] == x[first:last, first:last, first:last].astype(np.int64).sum()
    assert compiled.n_spills == 0


@triton.jit
def in_place(x_ptr, old_ptr, N: tl.constexpr):
    """Loads, stores and loads again: each has to see what the ones before it did."""
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    tl.store(x_ptr + offsets, x * 2 + 1)
    tl.debug_barrier()
    again = tl.load(x_ptr + (N - 1 - offsets))
    old = tl.atomic_add(x_ptr + offsets, again - x)
    tl.store(old_ptr + offsets, old + x)


def test_accesses_stay_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    n = 16384
    x = np.random.default_rng(1).integers(-1000, 1000, n).astype(np.int32)
    old, before = np.zeros(n, np.int32), x.copy()
    compiled = in_place.warmup(x, old, n, grid=(1,), arch="sm_90a", num_warps=2)
    ptx_machine.run(compiled, [x, old])
    stored = before * 2 + 1
    assert np.array_equal(old, stored + before)
    assert np.array_equal(x, stored + stored[::-1] - before)
