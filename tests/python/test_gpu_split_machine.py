"""tl.split of blocks whose halves lie in different threads, without a GPU: who holds what, and the
results; run by ptx_machine.py.
"""

from __future__ import annotations

import re

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import machine_backend
import pytest

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)


@triton.jit
def turned_pairs_kernel(x_ptr, out_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Rows are neighbours in memory, pairs lie along columns: a thread loads one of each pair."""
    row, column = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    x = tl.load(x_ptr + row[:, None] + column[None, :] * ROWS)
    first, second = tl.split(tl.reshape(x, (ROWS, COLUMNS // 2, 2)))
    turned = tl.join(first - 2 * second, second + 3 * first)
    tl.store(out_ptr + row[:, None] + column[None, :] * ROWS, tl.reshape(turned, (ROWS, COLUMNS)))


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize(("rows", "columns", "warps"), [(16, 64, 4), (64, 8, 1), (4, 64, 8)])
def test_halves_are_not_held_twice(
    rows: int, columns: int, warps: int, arch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(7)
    kernels = machine_backend.record(monkeypatch, arch)
    x, out = torch.randn(columns, rows), torch.zeros(columns, rows)
    turned_pairs_kernel[(1,)](x, out, ROWS=rows, COLUMNS=columns, num_warps=warps)
    want = torch.stack([x[0::2] - 2 * x[1::2], x[1::2] + 3 * x[0::2]], 1).reshape(columns, rows)
    assert torch.allclose(out, want)
    text = kernels[0].asm["ttgir"]
    layout = re.search(r"tl\.split .* -> tensor<\w+, (#layout\d*)>", text)[1]
    lanes = re.search(rf"{layout} = .*lanes = \[([^]]*)\]", text)[1]
    if rows * columns >= 64 * warps:  # enough for all
        assert "0" not in lanes.split(", ")
