"""Sums of dots: in fp16, which are in fp32 until something other than a dot or a cast to fp32 takes
them; of fp8 products in so many registers that they are added part by part."""

import blockscope as triton
import blockscope.language as tl
import pytest
from test_dot import check, rand

torch = pytest.importorskip("torch")


@triton.jit
def half_sums_kernel(a_ptr, b_ptr, c_ptr, d_ptr, k, SIZE: tl.constexpr, DEPTH: tl.constexpr):
    line, step = tl.arange(0, SIZE), tl.arange(0, DEPTH)
    total = tl.zeros((SIZE, SIZE), tl.float16)
    apart = tl.zeros((SIZE, SIZE), tl.float32)
    for start in range(0, k, DEPTH):
        a = tl.load(a_ptr + line[:, None] * k + (start + step)[None, :])
        b = tl.load(b_ptr + line[None, :] * k + (start + step)[:, None])
        total = tl.dot(a, b, total, out_dtype=tl.float16)
        apart += tl.dot(a, b, out_dtype=tl.float16)
    at = line[:, None] * SIZE + line[None, :]
    tl.store(c_ptr + at, total)
    tl.store(d_ptr + at, apart)


def run_half_sums(size, k, dtype, device, warps=4):
    """Both are added up in fp32; only what is stored in fp16 is rounded, and once. Tensor cores
    cut off each sum of fp32 (5e-6 of the largest one over 4096, on an H100), and sums of fp8
    products to about 13 bits (3e-3; docs/numerics.md)."""
    a, b = (rand((size, max(k, 1)), dtype, device) for _ in range(2))
    c = torch.full((size, size), 77, dtype=torch.float16, device=device)
    d = torch.full((size, size), 77, dtype=torch.float32, device=device)
    half_sums_kernel[(1,)](a, b, c, d, k, size, 64, num_warps=warps)
    want = a.double() @ b.double().T if k else torch.zeros(size, size, device=device).double()
    of_products = 1e-2 if dtype.itemsize == 1 else 2e-5
    check(d, want, of_products)
    off = (c.double() - want).abs() - want.abs() * 2**-11
    assert off.max().item() <= of_products * max(want.abs().max().item(), 1e-30)


@pytest.mark.parametrize("size", [16, 64, 128])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float8_e4m3fn], ids=["fp16", "fp8"])
@pytest.mark.parametrize("k", [0, 64, 192, 4096])
def test_sums_in_fp16(device, k, dtype, size):
    run_half_sums(size, k, dtype, device)


@triton.jit
def sums_of_fp8_kernel(
    a_ptr, b_ptr, c_ptr, k, M: tl.constexpr, N: tl.constexpr, DEPTH: tl.constexpr,
    MADE: tl.constexpr, LIMIT: tl.constexpr,
):  # fmt: skip
    m, n, step = tl.arange(0, M), tl.arange(0, N), tl.arange(0, DEPTH)
    total = tl.full((M, N), 1, tl.float32)
    for start in range(0, k, DEPTH):
        a = tl.load(a_ptr + m[:, None] * k + (start + step)[None, :])
        if MADE:
            a = (a.to(tl.float32) * 2).to(a.dtype)
        b = tl.load(b_ptr + n[None, :] * k + (start + step)[:, None])
        total = total * 0.5 + tl.dot(a, b, max_num_imprecise_acc=LIMIT)
    tl.store(c_ptr + m[:, None] * N + n[None, :], total)


def run_sums_of_fp8(shape, k, depth, made, limit, device, warps, tolerance):
    m, n = shape
    a, b = (rand((size, max(k, 1)), torch.float8_e4m3fn, device) for size in (m, n))
    c = torch.full((m, n), 77, dtype=torch.float32, device=device)
    sums_of_fp8_kernel[(1,)](a, b, c, k, m, n, depth, made, limit, num_warps=warps)
    want = torch.ones(m, n, device=device).double()
    for start in range(0, k, depth):
        left = a[:, start : start + depth].double() * (2 if made else 1)
        want = want / 2 + left @ b[:, start : start + depth].double().T
    check(c, want, tolerance)


@pytest.mark.parametrize("limit", [None, 32])
@pytest.mark.parametrize("made", [False, True])
@pytest.mark.parametrize("k", [0, 64, 192, 2048])
@pytest.mark.parametrize(("shape", "warps"), [((128, 128), 4), ((64, 256), 4), ((128, 256), 8)])
def test_sums_of_fp8(device, shape, warps, k, made, limit):
    run_sums_of_fp8(shape, k, 64, made, limit, device, warps, 3e-3)


@triton.jit
def wide_sums_kernel(
    a_ptr, b_ptr, c_ptr, k, MADE: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """c is half of what it was in each iteration, and a product more. With MADE the first operand
    is computed, so that it is in registers."""
    row, column, step = tl.arange(0, ROWS), tl.arange(0, COLUMNS), tl.arange(0, DEPTH)
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, k, DEPTH):
        a = tl.load(a_ptr + row[:, None] * k + (start + step)[None, :])
        b = tl.load(b_ptr + (start + step)[:, None] * COLUMNS + column[None, :])
        if MADE:
            a = (a.to(tl.float32) * 2).to(a.dtype)
        total = tl.dot(a, b, total * 0.5)
    tl.store(c_ptr + row[:, None] * COLUMNS + column[None, :], total)


def run_wide_sums(rows, columns, k, made, warps, device):
    depth = 32
    a = rand((rows, k), torch.float16, device)
    b = rand((k, columns), torch.float16, device)
    c = torch.full((rows, columns), 77, dtype=torch.float32, device=device)
    wide_sums_kernel[(1,)](a, b, c, k, made, rows, columns, depth, num_warps=warps, num_stages=2)
    want = torch.zeros(rows, columns, device=device).double()
    for start in range(0, k, depth):
        product = a[:, start : start + depth].double() @ b[start : start + depth].double()
        want = want * 0.5 + product * (2 if made else 1)
    check(c, want, 6e-6)


#: Rows, columns and warps with which sums fill all registers of a thread, or more.
WIDE = [(64, 512, 4), (128, 256, 4), (256, 256, 8), (128, 256, 16)]


@pytest.mark.parametrize(("rows", "columns", "warps"), WIDE)
@pytest.mark.parametrize("made", [False, True])
@pytest.mark.parametrize("k", [0, 32, 96])
def test_sums_of_more_registers_than_a_thread_has(device, k, made, rows, columns, warps):
    run_wide_sums(rows, columns, k, made, warps, device)
