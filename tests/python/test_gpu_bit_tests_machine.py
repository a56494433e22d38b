"""Masks that are bits of words, and shifts by any number, without a GPU: how it is done, and the
results; run by ptx_machine.py.
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
ARCHS = pytest.mark.parametrize("arch", ["sm_90a"])
ROWS, STEPS = 64, 3


@triton.jit
def masked_sums(
    word_ptr, x_ptr, out_ptr, first, steps, M: tl.constexpr, N: tl.constexpr, ZERO: tl.constexpr
):
    """The elements whose bit is 1, or 0, of a word for each row and step."""
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    total = tl.zeros((M, N), tl.float32)
    for i in range(steps):
        words = tl.load(word_ptr + i * M + rows)
        bits = (words[:, None] >> (columns + first)[None, :]) & 1
        mask = bits == 0 if ZERO else bits != 0
        x = tl.load(x_ptr + (i * M + rows[:, None]) * N + columns[None, :])
        total += tl.where(mask, x, 0.0)
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], total)


@triton.jit
def masked_products(
    word_ptr, a_ptr, b_ptr, out_ptr, steps, M: tl.constexpr, N: tl.constexpr, ZERO: tl.constexpr
):
    """As a mask of attention: a thread has many columns of a few rows."""
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    ks = tl.arange(0, 16)
    a = tl.load(a_ptr + rows[:, None] * 16 + ks[None, :])
    total = tl.zeros((M, N), tl.float32)
    for i in range(steps):
        words = tl.load(word_ptr + i * M + rows)
        b = tl.load(b_ptr + (i * 16 + ks[:, None]) * N + columns[None, :])
        bits = (words[:, None] >> columns[None, :]) & 1
        mask = bits == 0 if ZERO else bits != 0
        total += tl.where(mask, tl.dot(a, b), 0.0)
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], total)


def some_words(bits: int) -> Any:
    words = torch.randint(-(2**62), 2**62, (STEPS, ROWS)) * 4
    words = words + torch.randint(0, 4, words.shape)
    return words if bits == 64 else words & ((1 << bits) - 1)


def seen(words: Any, places: Any, zero: bool) -> Any:
    return (words[..., None] >> places) & 1 == int(not zero)


def shifts(kernel: Any) -> int:
    """How many shifts by what is in a register the kernel has."""
    return len(re.findall(r"sh[lr]\.[bsu]\d+\s+%\w+, %\w+, %\w+;", kernel.asm["ptx"]))


@ARCHS
@pytest.mark.parametrize("zero", [False, True])
@pytest.mark.parametrize(
    ("dtype", "bits", "most"), [(torch.int64, 64, 4), (torch.int32, 32, 2), (torch.uint32, 32, 2)]
)
def test_a_shift_for_each_word(
    dtype: Any, bits: int, most: int, zero: bool, arch: str, kernels: Any
) -> None:
    """Not for each column, where the loop would keep it; what is shifted has a few bits of 32
    columns in two words, or two rows."""
    words = some_words(bits)
    a, b = torch.randint(-3, 4, (ROWS, 16)).half(), torch.randint(-3, 4, (STEPS, 16, bits)).half()
    out = torch.empty(ROWS, bits)
    masked_products[(1,)](words.to(dtype), a, b, out, STEPS, ROWS, bits, zero, num_warps=4)
    products = a.float() @ b.float()
    want = torch.where(seen(words, torch.arange(bits), zero), products, 0.0).sum(0)
    assert torch.equal(out, want)
    assert shifts(kernels[0]) <= most


@ARCHS
@pytest.mark.parametrize("first", [0, 1, 5])
@pytest.mark.parametrize(
    ("dtype", "bits"),
    [(torch.int64, 64), (torch.int32, 32), (torch.int16, 16), (torch.uint8, 8)],
)
def test_bits_from_a_place_that_only_the_launch_knows(
    dtype: Any, bits: int, first: int, arch: str, kernels: Any
) -> None:
    words, n = some_words(bits), bits // 2
    x, out = torch.randint(-9, 9, (STEPS, ROWS, n)).float(), torch.empty(ROWS, n)
    masked_sums[(1,)](words.to(dtype), x, out, first, STEPS, ROWS, n, False, num_warps=1)
    if first + n > bits:
        return
    want = torch.where(seen(words, torch.arange(n) + first, False), x, 0.0).sum(0)
    assert torch.equal(out, want)


@triton.jit
def shifted(x_ptr, by_ptr, left_ptr, right_ptr, plain_ptr, UNSIGNED: tl.constexpr):
    at = tl.arange(0, 256)
    x, by = tl.load(x_ptr + at), tl.load(by_ptr + at)
    tl.store(left_ptr + at, x << by)
    tl.store(right_ptr + at, x >> by)
    tl.store(plain_ptr + at, x.to(UNSIGNED, bitcast=True) >> by.to(UNSIGNED, bitcast=True))


@ARCHS
@pytest.mark.parametrize("bits", [16, 32, 64])
def test_shifts_by_any_number(bits: int, arch: str, kernels: Any) -> None:
    """Also by as many bits as there are, by more, and by numbers that are negative as signed."""
    dtype = {16: torch.int16, 32: torch.int32, 64: torch.int64}[bits]
    x = torch.randint(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, (256,), dtype=dtype)
    by = torch.arange(256).remainder(bits + 9).to(dtype)
    by[:3] = torch.tensor([-1, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1], dtype=dtype)
    outs = [torch.zeros(256, dtype=dtype) for _ in range(3)]
    unsigned = {16: tl.uint16, 32: tl.uint32, 64: tl.uint64}[bits]
    shifted[(1,)](x, by, *outs, UNSIGNED=unsigned)
    mask = 2**bits - 1

    def signed(value: int) -> int:
        value &= mask
        return value - 2**bits if value >> (bits - 1) else value

    for i in range(256):
        value, far = int(x[i]), min(int(by[i]) & mask, bits)
        want = [signed(value << far), value >> far, signed((value & mask) >> far)]
        assert [int(out[i]) for out in outs] == want, (value, int(by[i]))
    if bits == 32:
        ptx = kernels[0].asm["ptx"]
        assert "min.u32" not in ptx and "selp" not in ptx
