"""Sums and differences of indices: those of a thread that are equal are computed once. Results by
ptx_matrix_machine.py.
"""

from __future__ import annotations

import re
from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import pytest

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)
ARCHS = pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
HALF = torch.float16


@triton.jit
def retention_kernel(q_ptr, k_ptr, out_ptr, log_gamma, length, HEAD: tl.constexpr,
                     BM: tl.constexpr, BN: tl.constexpr):  # fmt: skip
    rows, features = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, HEAD)
    q = tl.load(q_ptr + rows[:, None] * HEAD + features[None, :])
    for start in range(0, length, BN):
        keys = start + tl.arange(0, BN)
        k = tl.load(k_ptr + keys[None, :] * HEAD + features[:, None])
        distance = rows[:, None] - keys[None, :]
        decay = tl.where(distance >= 0, tl.exp2(distance.to(tl.float32) * log_gamma), 0.0)
        tl.store(out_ptr + rows[:, None] * length + keys[None, :], tl.dot(q, k) * decay)


@ARCHS
@pytest.mark.parametrize("warps", [1, 4, 8])
def test_decay_by_distance(warps: int, arch: str, kernels: Any) -> None:
    length, head, block = 128, 32, 64
    q, k = torch.randn(length, head).to(HALF), torch.randn(length, head).to(HALF)
    out = torch.empty(length, length)
    retention_kernel[(2,)](
        q, k, out, -0.05, length, HEAD=head, BM=block, BN=block, num_warps=warps, num_stages=1
    )
    at = torch.arange(length)
    distance = (at[:, None] - at[None, :]).double()
    want = (q.double() @ k.double().T) * torch.where(distance >= 0, 2 ** (-0.05 * distance), 0.0)
    torch.testing.assert_close(out.double(), want, rtol=1e-3, atol=1e-3)
    of_thread = block * block // (32 * warps)
    exponentials = len(re.findall(r"ex2\.approx", kernels[0].asm["ptx"]))
    assert exponentials < of_thread or (warps == 8 and arch == "sm_80")  # rows apart there


@triton.jit
def anti_diagonals_kernel(x_ptr, out_ptr, first, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    i, j = tl.arange(0, ROWS)[:, None], tl.arange(0, COLUMNS)[None, :]
    at = (i * 3 + first) + (j * 6 - first) + (i - j).to(tl.int64) * 0
    tl.store(out_ptr + i * COLUMNS + j, tl.load(x_ptr + at))


@ARCHS
@pytest.mark.parametrize("first", [0, 2**31 - 1])
def test_sums_that_wrap(first: int, arch: str, kernels: Any) -> None:
    """Parts of an index wrap, their sum does not."""
    rows, columns = 32, 64
    x = torch.arange(3 * rows + 6 * columns)
    out = torch.empty(rows, columns, dtype=torch.int64)
    anti_diagonals_kernel[(1,)](x, out, first, ROWS=rows, COLUMNS=columns, num_warps=1)
    i, j = torch.arange(rows)[:, None], torch.arange(columns)[None, :]
    assert torch.equal(out, 3 * i + 6 * j)


@triton.jit
def ranges_kernel(out_ptr, N: tl.constexpr):
    i, j = tl.arange(0, N).to(tl.int8), tl.arange(0, N).to(tl.int64)
    far = i[:, None] - i[None, :]  # may wrap in eight bits
    near = j[:, None] + j[None, :] * 2
    tl.store(out_ptr + j[:, None] * N + j[None, :], far.to(tl.int64) * 1000 + near)


@ARCHS
def test_steps_of_converted_ranges(arch: str, kernels: Any) -> None:
    n = 64
    out = torch.empty(n, n, dtype=torch.int64)
    ranges_kernel[(1,)](out, N=n, num_warps=1)
    i = torch.arange(n)
    far = (i.to(torch.int8)[:, None] - i.to(torch.int8)[None, :]).long()
    assert torch.equal(out, far * 1000 + i[:, None] + 2 * i[None, :])
