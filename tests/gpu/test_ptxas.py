"""What ptxas gets wrong where LLVM's PTX is given to it as it is (codegen/ptxas_mistakes)."""

from __future__ import annotations

import blockscope as triton
import blockscope.language as tl
import pytest

torch = pytest.importorskip("torch")


@triton.jit
def widened(x_ptr, out_ptr, N: tl.constexpr, ABS: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(out_ptr + i, (tl.abs(x) if ABS else -x).to(tl.int64))


@pytest.mark.parametrize("absolute", [False, True])
@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.int32])
def test_the_smallest_integer_stays_itself(dtype, absolute, device):
    info = torch.iinfo(dtype)
    x = torch.tensor([info.min, info.min + 1, -1, 0, 1, info.max, 7, -7], dtype=dtype)
    out = torch.empty(8, dtype=torch.int64, device=device)
    widened[(1,)](x.to(device), out, N=8, ABS=absolute)
    want = (x.abs() if absolute else -x).long()
    assert out.tolist() == want.tolist()


@triton.jit
def zeros_or_ones(x_ptr, out_ptr):
    i = tl.arange(0, 8)
    x = tl.full([8], -1.0, tl.float32) if tl.load(x_ptr) else tl.full([8], -0.0, tl.float32)
    tl.store(out_ptr + i, x)


@pytest.mark.parametrize("flag", [False, True])
def test_minus_zero_keeps_its_sign(flag, device):
    out = torch.empty(8, device=device)
    zeros_or_ones[(1,)](torch.tensor([flag], device=device), out)
    assert torch.equal(out.signbit(), torch.ones(8, dtype=torch.bool, device=device))
    assert torch.equal(out.abs(), torch.full((8,), float(flag), device=device))


@triton.jit
def chosen(x_ptr, out_ptr, ONE: tl.constexpr, OTHER: tl.constexpr, dtype: tl.constexpr):
    i = tl.arange(0, 8)
    x = tl.load(x_ptr + i)
    value = tl.where(x > 0, tl.full([8], ONE, dtype), tl.full([8], OTHER, dtype))
    tl.store(out_ptr + i, value)
    tl.store(out_ptr + 8 + i, value * x.to(dtype))


CONSTANTS = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, float("inf"), float("-inf")]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("other", CONSTANTS)
@pytest.mark.parametrize("one", CONSTANTS)
def test_choices_between_constants_keep_every_bit(one, other, dtype, device):
    """ptxas makes some of them a conversion, or a comparison that gives a number."""
    x = torch.tensor([1.0, -1.0, 2.0, 0.0, -3.0, 0.5, 4.0, -0.0], device=device)
    out = torch.empty(16, dtype=dtype, device=device)
    chosen[(1,)](x, out, one, other, tl.float32 if dtype == torch.float32 else tl.float64)
    value = torch.where(x > 0, one, other).to(dtype)
    want = torch.cat([value, value * x.to(dtype)])
    nan = want.isnan()
    assert torch.equal(out.isnan(), nan)
    assert torch.equal(out[~nan], want[~nan])
    assert torch.equal(out.signbit()[~nan], want.signbit()[~nan])
