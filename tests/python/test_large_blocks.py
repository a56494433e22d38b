"""Checks that follow values see all of a large block, which fused ops make strip by strip."""

from __future__ import annotations

import blockscope
import blockscope.language as tl
import pytest
import torch


@pytest.fixture(params=["whole", "steps"], autouse=True)
def mode(request):
    blockscope.set_interpret_mode(request.param == "steps")
    yield
    blockscope.set_interpret_mode(False)


@blockscope.jit
def summed(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr, tl.sum(x * 2 + 1, 0))


@blockscope.jit
def rooted(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    tl.store(out_ptr, tl.sum(tl.sqrt(x * 2 + 1), 0))


@blockscope.jit
def multiplied(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    tl.store(out_ptr, tl.max(x * 1000002 + 1, 0))


@blockscope.jit
def divided(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    y = tl.load(y_ptr + i)
    tl.store(out_ptr, tl.max(tl.load(x_ptr + i) // (y - 1) + 1, 0))


@blockscope.jit
def doubled(x_ptr, out_ptr, n, stored, BLOCK: tl.constexpr):
    """Elements [n, 2 n) are undefined; those before `stored` and from 2 n on are stored."""
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=(i < n) | (i >= 2 * n))
    tl.store(out_ptr + i, x * 2 + 1, mask=(i < stored) | (i >= 2 * n))


@pytest.fixture(params=[256, 4096, 65536])
def block(request):
    return request.param


@pytest.fixture(params=["first", "middle", "last"])
def lane(request, block):
    return {"first": 0, "middle": block // 2 + 3, "last": block - 1}[request.param]


def only(report):
    assert len(report.findings) == 1, str(report)
    return report.findings[0]


def test_undefined(block):
    with blockscope.check("undefined") as report:
        summed[(1,)](torch.ones(block), torch.zeros(1), block - 1, BLOCK=block)
    assert only(report).code == "undefined-value"
    with blockscope.check("undefined") as report:
        summed[(1,)](torch.ones(block), torch.zeros(1), block, BLOCK=block)
    assert report.clean


def test_nan(block, lane):
    x = torch.ones(block)
    x[lane] = -3
    with blockscope.check("nan") as report:
        rooted[(1,)](x, torch.zeros(1), BLOCK=block)
    finding = only(report)
    assert finding.code == "nan-born" and finding.lane == lane


def test_integers_that_wrap(block, lane):
    x = torch.ones(block, dtype=torch.int32)
    x[lane] = 3000
    with blockscope.check("overflow") as report:
        multiplied[(1,)](x, torch.zeros(1, dtype=torch.int32), BLOCK=block)
    finding = only(report)
    assert finding.code == "integer-wrap" and finding.lane == lane


def test_divisions_by_zero(block, lane):
    y = torch.full((block,), 3, dtype=torch.int32)
    y[lane] = 1
    with blockscope.check("arith") as report:
        divided[(1,)](torch.ones_like(y), y, torch.zeros(1, dtype=torch.int32), BLOCK=block)
    finding = only(report)
    assert finding.code == "division-by-zero" and finding.lane == lane


@pytest.mark.parametrize("undefined", [0, 1, 37])
def test_each_element_has_its_own_state(block, undefined):
    n = block // 4 - 1
    out = torch.zeros(block)
    with blockscope.check("undefined") as report:
        doubled[(1,)](torch.ones(block), out, n, n + undefined, BLOCK=block)
        out.sum().item()
    assert [finding.count for finding in report.findings] == ([undefined] if undefined else [])
