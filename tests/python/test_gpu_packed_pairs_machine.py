"""Weights of a few bits, eight or four to a word, and pairs of fp8, without a GPU: how they are
unpacked and packed, and the results; run by ptx_machine.py.
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
ROWS, WORDS = 8, 16


@triton.jit
def unpack(
    word_ptr, zero_ptr, scale_ptr, out_ptr, ROWS: tl.constexpr, WORDS: tl.constexpr,
    BITS: tl.constexpr, APART: tl.constexpr, FORM: tl.constexpr,
):  # fmt: skip
    """Neighbours are BITS apart in their word, or half a word."""
    COUNT: tl.constexpr = 32 // BITS
    words, row = tl.arange(0, WORDS), tl.arange(0, ROWS)[:, None, None]
    each = tl.arange(0, COUNT)
    if APART:
        each = (each % 2) * (COUNT // 2) + each // 2
    shift = (each * BITS)[None, None, :]
    word = tl.load(word_ptr + row * WORDS + words[None, :, None])
    value = (word >> shift) & ((1 << BITS) - 1)
    if FORM == "zeros":  # as many bits for each column
        zero = tl.load(zero_ptr + words)[None, :, None]
        value = value - ((zero >> shift) & ((1 << BITS) - 1))
    elif FORM == "constant":
        value = value - (1 << (BITS - 1))
    elif FORM == "sum":
        value = (value ^ 5) + ((word >> ((shift + BITS) % 32)) & 3)
    place = words[None, :, None] * COUNT + tl.arange(0, COUNT)[None, None, :]
    scale = tl.load(scale_ptr + place)
    result = value.to(scale.dtype) * scale
    tl.store(out_ptr + row * (WORDS * COUNT) + place, result)


def expected(words: Any, zeros: Any, scales: Any, bits: int, apart: bool, form: str) -> Any:
    count = 32 // bits
    each = torch.arange(count)
    if apart:
        each = (each % 2) * (count // 2) + each // 2
    shift, mask = each * bits, (1 << bits) - 1
    wide, zero = (x.long()[..., None] & 0xFFFFFFFF for x in (words, zeros))
    value = (wide >> shift) & mask
    if form == "zeros":
        value = value - ((zero >> shift) & mask)
    elif form == "constant":
        value = value - (1 << (bits - 1))
    elif form == "sum":
        value = (value ^ 5) + ((wide >> ((shift + bits) % 32)) & 3)
    return value.to(scales.dtype).view(len(words), -1) * scales


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("form", ["as it is", "zeros", "constant", "sum"])
@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize(
    ("bits", "dtype"),
    [(4, torch.float16), (4, torch.bfloat16), (8, torch.float16), (2, torch.float16)],
)
def test_two_at_a_time(
    bits: int, dtype: Any, apart: bool, form: str, arch: str, kernels: Any
) -> None:
    torch.manual_seed(3)
    words = torch.randint(-(2**31), 2**31, (ROWS, WORDS), dtype=torch.int32)
    zeros = torch.randint(-(2**31), 2**31, (WORDS,), dtype=torch.int32)
    count = 32 // bits
    scales = torch.randint(1, 9, (WORDS * count,)).to(dtype)
    out = torch.empty(ROWS, WORDS * count, dtype=dtype)
    unpack[(1,)](words, zeros, scales, out, ROWS, WORDS, bits, apart, form, num_warps=1)
    assert torch.equal(out, expected(words, zeros, scales, bits, apart, form))
    if dtype == torch.float16 and apart and bits == 4 and form != "sum":
        ptx = kernels[0].asm["ptx"]
        assert "bfe" not in ptx and "prmt" not in ptx  # a shift and a mask for two
        assert re.search(r"and\.b32\s+%r\d+, %r\d+, 983055;", ptx)  # 0xF000F


@triton.jit
def joined(word_ptr, low_ptr, out_ptr, N: tl.constexpr):
    """A difference below 0 beside something else: 16 bits of it are not what it is worth."""
    i = tl.arange(0, N)
    word = tl.load(word_ptr + i)
    low = (word & 15) - ((word >> 8) & 15)
    tl.store(low_ptr + i, low)
    pair = tl.join(low, (word << 24) >> 28).to(tl.float16)
    tl.store(out_ptr + i[:, None] * 2 + tl.arange(0, 2)[None, :], pair)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_a_number_below_zero_beside_another(arch: str, kernels: Any) -> None:
    words = torch.randint(-(2**31), 2**31, (32,), dtype=torch.int32)
    low, out = torch.empty(32, dtype=torch.int32), torch.empty(32, 2).half()
    joined[(1,)](words, low, out, 32, num_warps=1)
    nibbles = [(words.long() >> n) & 15 for n in (0, 8, 4)]
    want = torch.stack([nibbles[0] - nibbles[1], (nibbles[2] ^ 8) - 8], 1)
    assert torch.equal(out, want.half())


@triton.jit
def chained(word_ptr, out_ptr, N: tl.constexpr, LENGTH: tl.constexpr):
    word, each = tl.load(word_ptr + tl.arange(0, N)[:, None]), tl.arange(0, 2)[None, :]
    last = (word >> (each * 4)) & 1
    next = (word >> (each * 4 + 8)) & 1
    for _ in tl.static_range(LENGTH):
        sum = last + next
        last = next
        next = sum
    place = tl.arange(0, N)[:, None] * 2 + each
    tl.store(out_ptr + place, (next & 1023).to(tl.float16))


@pytest.mark.parametrize("arch", ["sm_90a"])
def test_sums_that_share_their_terms_are_compiled_in_time(arch: str, kernels: Any) -> None:
    words = torch.randint(0, 2**31, (32,), dtype=torch.int32)
    out = torch.empty(32, 2).half()
    chained[(1,)](words, out, 32, 60, num_warps=1)
    each = torch.arange(2)[None, :] * 4
    last, next = (words[:, None].long() >> each) & 1, (words[:, None].long() >> (each + 8)) & 1
    for _ in range(60):
        last, next = next, last + next
    assert torch.equal(out, (next & 1023).half())


@triton.jit
def to_fp8(x_ptr, out_ptr, size, MASKED: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, x.to(out_ptr.dtype.element_ty), mask=at < size if MASKED else None)


@pytest.mark.parametrize("arch", ["sm_89", "sm_90a"])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_pairs_are_stored_as_they_are_made(
    dtype: Any, masked: bool, arch: str, kernels: Any
) -> None:
    x = torch.randn(2048) * 30
    out = torch.zeros(2048, dtype=dtype)
    to_fp8[(1,)](x, out, 2048, masked, 2048)
    assert torch.equal(out.view(torch.uint8), x.to(dtype).view(torch.uint8))
    (kernel,) = kernels
    assert "e4m3x2" in kernel.asm["ptx"] or "e5m2x2" in kernel.asm["ptx"]
    assert "prmt" not in kernel.asm["ptx"] and "shr" not in kernel.asm["ptx"]
