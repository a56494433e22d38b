"""Conversions between element types, of values near ties and beyond the limits."""

import blockscope as triton
import blockscope.language as tl
import pytest

torch = pytest.importorskip("torch")


@triton.jit
def convert_kernel(x_ptr, y_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, tl.load(x_ptr + i).to(y_ptr.dtype.element_ty))


def converted(x, dtype, device, block):
    """``x`` as ``dtype``, by programs of one block each."""
    y = torch.empty(x.numel(), dtype=dtype, device=device)
    x = x.to(device)
    for start in range(0, x.numel(), block):
        convert_kernel[(1,)](x[start:], y[start:], block)
    return y.cpu()


def near_ties(bits, is_signed):
    """Integers beside those half way between two that bf16 has, which has 8 bits."""
    values = []
    for length in range(9, bits - is_signed):
        for mantissa in (128, 129, 170, 255):
            tie = (2 * mantissa + 1) << (length - 8)
            values += [tie - 1, tie, tie + 1]
    values = [v for v in values if v < 1 << (bits - is_signed)]
    return values + [-v for v in values] if is_signed else values


def nearest_bf16(value):
    size, shift = abs(value), max(abs(value).bit_length() - 8, 0)
    kept, rest = size >> shift, size & ((1 << shift) - 1)
    half = 1 << (shift - 1) if shift else 1
    kept += rest > half or (rest == half and kept & 1 and shift > 0)
    return float(-(kept << shift) if value < 0 else kept << shift)


INTEGERS = [torch.int32, torch.uint32, torch.int64, torch.uint64]


def run_integers_to_bf16(dtype, device):
    values = near_ties(torch.iinfo(dtype).bits, dtype in (torch.int32, torch.int64))
    size = 1 << len(values).bit_length()
    values += [0] * (size - len(values))
    x = torch.tensor(values, dtype=torch.int64 if dtype != torch.uint64 else dtype).to(dtype)
    want = torch.tensor([nearest_bf16(v) for v in values], dtype=torch.float64).bfloat16()
    assert torch.equal(converted(x, torch.bfloat16, device, size), want)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_to_bf16_are_rounded_once(dtype, device):
    run_integers_to_bf16(dtype, device)


def all_of_16_bits(dtype):
    return torch.arange(-(1 << 15), 1 << 15, dtype=torch.int32).to(torch.int16).view(dtype)


#: From and to; what the CPU makes of all values is right.
PAIRS = [
    (source, target)
    for source in (torch.float16, torch.bfloat16)
    for target in (torch.float8_e4m3fn, torch.float8_e5m2, torch.int8, torch.uint8, torch.int16,
                   torch.uint16, torch.int32, torch.uint32, torch.int64, torch.uint64)
]  # fmt: skip


def run_pair(source, target, want, device, block=1 << 14):
    got = converted(all_of_16_bits(source), target, device, block)
    if target.is_floating_point:
        got, want = got.float(), want.float()
        assert torch.equal(got.isnan(), want.isnan())
        got, want = got.nan_to_num(0.0), want.nan_to_num(0.0)
    assert torch.equal(got.view(torch.uint8), want.view(torch.uint8))


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_all_of_16_bits(source, target, device):
    want = converted(all_of_16_bits(source), target, "cpu", 1 << 14)
    run_pair(source, target, want, device)
