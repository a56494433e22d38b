"""Loops whose iterations have more masks than a thread has predicates, without a GPU: those where
all masks are true have a body without masks. Run by ptx_machine.py."""

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


def loads(kernel: Any) -> tuple[int, int]:
    """How many loads are under a mask, and how many are not."""
    found = re.findall(r"(@%p\d+ )?ld\.global", kernel.asm["ptx"])
    masked = sum(bool(each) for each in found)
    return masked, len(found) - masked


@triton.jit
def scaled_sum_kernel(x_ptr, y_ptr, out_ptr, n, blocks, BLOCK: tl.constexpr):
    for block in range(tl.program_id(0), blocks, tl.num_programs(0)):
        at = block * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < n)
        y = tl.load(y_ptr + at, mask=at < n)
        tl.store(out_ptr + at, 3 * x + y, mask=at < n)


@ARCHS
@pytest.mark.parametrize("n", [0, 5, 1024, 1028, 3068, 4096])
def test_tiles_of_a_program(n: int, arch: str, kernels: Any) -> None:
    x, y = torch.randn(2, n + 16)
    out = torch.full((n + 16,), 7.0)
    scaled_sum_kernel[(2,)](x, y, out, n, -(-n // 1024), BLOCK=1024, num_warps=1)
    torch.testing.assert_close(out[:n], 3 * x[:n] + y[:n])
    assert (out[n:] == 7).all()
    if n % 16 == 0 and n > 0:
        assert loads(kernels[0]) == (16, 16)


@triton.jit
def rows_kernel(x_ptr, out_ptr, rows, n, BOUND: tl.constexpr, ROWS: tl.constexpr,
                BLOCK: tl.constexpr):  # fmt: skip
    """The largest element of each row, where it is, and the sum of exponentials; two masks."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    most = tl.full((ROWS,), -1e30, tl.float32)
    total = tl.zeros((ROWS,), tl.float32)
    place = tl.zeros((ROWS,), tl.int32)
    for start in range(0, BOUND or n, BLOCK):
        column = start + tl.arange(0, BLOCK)
        mask = (row[:, None] < rows) & (column[None, :] < (BOUND or n))
        x = tl.load(x_ptr + row[:, None] * n + column[None, :], mask=mask, other=-1e30)
        x = tl.where(mask, x, -2e30)
        larger = tl.max(x, 1)
        place = tl.where(larger > most, start + tl.argmax(x, 1), place)
        larger = tl.maximum(most, larger)
        total = total * tl.exp(most - larger) + tl.sum(tl.exp(x - larger[:, None]), 1)
        most = larger
    tl.store(out_ptr + 3 * row, most, mask=row < rows)
    tl.store(out_ptr + 3 * row + 1, place.to(tl.float32), mask=row < rows)
    tl.store(out_ptr + 3 * row + 2, total, mask=row < rows)


@ARCHS
@pytest.mark.parametrize("bound", [0, 1088])
@pytest.mark.parametrize(("rows", "n", "warps"), [(2, 1088, 1), (1, 1088, 4), (3, 1200, 4)])
def test_sums_of_rows(rows: int, n: int, warps: int, bound: int, arch: str, kernels: Any) -> None:
    x = torch.randn(rows, n)
    out = torch.full((rows, 3), 7.0)
    rows_kernel[(-(-rows // 2),)](
        x, out, rows, n, BOUND=bound, ROWS=2, BLOCK=512 * warps, num_warps=warps
    )
    x = x[:, : bound or n]
    assert torch.equal(out[:, 0], x.amax(1)) and torch.equal(out[:, 1], x.argmax(1).float())
    torch.testing.assert_close(out[:, 2], (x - x.amax(1, keepdim=True)).exp().sum(1))
    masked, full = loads(kernels[0])
    assert masked == 8 and full == (0 if 0 < bound < 512 * warps else 8)


@triton.jit
def other_masks_kernel(x_ptr, ends_ptr, out_ptr, n, WAY: tl.constexpr, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        if WAY == "loaded":  # a bound that the iteration loads
            mask = at < tl.load(ends_ptr + start // BLOCK)
        elif WAY == "above":
            mask = at >= 3
        else:  # no range
            mask = tl.load(ends_ptr + at) < n
        total += tl.load(x_ptr + at, mask=mask, other=0.0)
    tl.store(out_ptr + tl.arange(0, BLOCK), total)


@pytest.mark.parametrize("arch", ["sm_90a"])
@pytest.mark.parametrize("way", ["loaded", "above", "numbers"])
def test_other_masks_stay(way: str, arch: str, kernels: Any) -> None:
    x, out = torch.randn(3072), torch.zeros(1024)
    ends = torch.randint(0, 6000, (3072,), dtype=torch.int32)
    other_masks_kernel[(1,)](x, ends, out, 3072, WAY=way, BLOCK=1024, num_warps=1)
    at = torch.arange(3072)
    mask = {
        "loaded": at < ends[at // 1024],
        "above": at >= 3,
        "numbers": ends < 3072,
    }[way]
    torch.testing.assert_close(out, torch.where(mask, x, 0.0).view(3, 1024).sum(0))
    masked, others = loads(kernels[0])
    assert masked >= 8 and others <= (32 if way == "numbers" else 1)
