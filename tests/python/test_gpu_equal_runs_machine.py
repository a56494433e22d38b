"""Elements that are loaded from one address, eight 4-bit weights of an int32 or the scale of a
group: they are loaded and copied once. Results by ptx_matrix_machine.py.
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
N, DEPTH = 64, 192


def packed(values: Any) -> Any:
    """Eight rows of numbers of 4 bits to a word."""
    words = torch.zeros(values.shape[0] // 8, values.shape[1], dtype=torch.int64)
    for i in range(8):
        words |= values[i::8].long() << (4 * i)
    return (words - ((words >> 31) << 32)).to(torch.int32)


@triton.jit
def dequantised_dot_kernel(a_ptr, w_ptr, s_ptr, c_ptr, depth, n,
                           BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    rows, columns, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, depth, BK):
        at = start + k
        a = tl.load(a_ptr + rows[:, None] * depth + at[None, :])
        w = tl.load(w_ptr + (at[:, None] // 8) * n + columns[None, :])
        s = tl.load(s_ptr + (at[:, None] // 32) * n + columns[None, :])
        b = ((w >> ((k % 8) * 4)[:, None]) & 15) * s
        total = tl.dot(a, b.to(a.dtype), total)
    tl.store(c_ptr + rows[:, None] * n + columns[None, :], total)


@ARCHS
@pytest.mark.parametrize("rows", [16, 64])
def test_words_of_weights_are_copied_once(rows: int, arch: str, kernels: Any) -> None:
    values = torch.randint(0, 16, (DEPTH, N))
    scales = torch.rand(DEPTH // 32, N).to(HALF)
    a, c = torch.randn(rows, DEPTH).to(HALF), torch.empty(rows, N)
    dequantised_dot_kernel[(1,)](
        a, packed(values), scales, c, DEPTH, N, BM=rows, BN=N, BK=64, num_warps=4, num_stages=3
    )
    full = (values.to(HALF) * scales.repeat_interleave(32, 0)).float()
    torch.testing.assert_close(c, a.float() @ full, rtol=1e-2, atol=5e-2)
    # Buffers of a, of a word for 8 weights, of a scale for 32.
    buffers = re.findall(r"(\d+) bytes a buffer", kernels[0].asm["plan"])
    assert buffers == [str(rows * 64 * 2), str(64 // 8 * N * 4), str(64 // 32 * N * 2)]


@triton.jit
def sum_of_products_kernel(x_ptr, w_ptr, z_ptr, y_ptr, n,
                           BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    columns, k = tl.arange(0, BN), tl.arange(0, BK)
    w = tl.load(w_ptr + (k[:, None] // 8) * n + columns[None, :], mask=columns[None, :] < n)
    z = tl.load(z_ptr + (k[:, None] // 8) * n + columns[None, :] // 8 * 8)
    w = (w >> ((k % 8) * 4)[:, None]) & 15
    x = tl.load(x_ptr + k)
    tl.store(y_ptr + columns, tl.sum((w - z).to(tl.float32) * x[:, None], 0))


@ARCHS
@pytest.mark.parametrize("warps", [1, 4])
def test_words_of_weights_are_loaded_once(warps: int, arch: str, kernels: Any) -> None:
    depth = 64
    values, zeros = torch.randint(0, 16, (depth, N)), torch.randint(0, 16, (depth // 8, N))
    x, y = torch.randn(depth), torch.empty(N)
    sum_of_products_kernel[(1,)](
        x, packed(values), zeros.int(), y, N, BN=N, BK=depth, num_warps=warps
    )
    full = values - zeros.repeat_interleave(8, 0)[:, torch.arange(N) // 8 * 8]
    torch.testing.assert_close(y, x @ full.float(), rtol=1e-4, atol=1e-3)
    # 8 x 64 words, a vector of four by each thread of each warp; x has no mask.
    assert len(re.findall(r"@%p\d+ ld\.global\S*\.v4\.b32", kernels[0].asm["ptx"])) == 4 // warps
