"""Elementwise kernels with rows of factors and with elements that lie apart, without a GPU: which
thread loads what, and the results; run by ptx_machine.py.
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


def barriers(kernel: Any) -> int:
    return len(re.findall(r"\b(?:bar|barrier)\.sync", kernel.asm["ptx"]))


@triton.jit
def factors_kernel(x_ptr, factors_ptr, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row, column = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    factors = tl.load(factors_ptr + column, mask=column < columns, other=0.0)
    places = x_ptr + row[:, None] * columns + column[None, :]
    inside = (row[:, None] < rows) & (column[None, :] < columns)
    x = tl.load(places, mask=inside, other=0.0)
    tl.store(places, x * factors.to(tl.float32)[None, :], mask=inside)


@ARCHS
@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize(("rows", "columns"), [(32, 64), (29, 48), (7, 61), (1, 1)])
def test_rows_of_factors_are_loaded_where_they_are_used(
    rows: int, columns: int, warps: int, arch: str, kernels: Any
) -> None:
    x, factors = torch.randn(rows, columns), torch.randn(columns).half()
    want = x * factors.float()
    factors_kernel[(1,)](x, factors, rows, columns, ROWS=32, COLUMNS=64, num_warps=warps)
    assert torch.equal(x, want)
    assert barriers(kernels[0]) == 0 or warps == 1  # more elements than threads move


@triton.jit
def own_factors_kernel(x_ptr, factors_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row, column = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    factors = tl.load(factors_ptr + column)
    places = x_ptr + row[:, None] * COLUMNS + column[None, :]
    tl.store(places, tl.load(places) * factors[None, :])
    tl.store(factors_ptr + column, factors + 1)


@ARCHS
def test_factors_that_change_are_loaded_once(arch: str, kernels: Any) -> None:
    """A warp that is behind must not see what the first one has stored."""
    x, factors = torch.randn(32, 64), torch.randn(64)
    want, after = x * factors, factors + 1
    own_factors_kernel[(1,)](x, factors, ROWS=32, COLUMNS=64)
    assert torch.equal(x, want) and torch.equal(factors, after)
    assert barriers(kernels[0]) > 0


@triton.jit
def pairs_kernel(x_ptr, table_ptr, out_ptr, rows, half, ROWS: tl.constexpr, HALF: tl.constexpr):
    """Even and odd elements, by a table that is contiguous."""
    row, column = tl.arange(0, ROWS)[:, None], tl.arange(0, HALF)[None, :]
    inside = (row < rows) & (column < half)
    factor = tl.load(table_ptr + row * half + column, mask=inside, other=0.0)
    even = row * half * 2 + column * 2
    a = tl.load(x_ptr + even, mask=inside, other=0.0)
    b = tl.load(x_ptr + even + 1, mask=inside, other=0.0)
    tl.store(out_ptr + even, a * factor, mask=inside)
    tl.store(out_ptr + even + 1, b - factor, mask=inside)


@ARCHS
@pytest.mark.parametrize(("rows", "half"), [(8, 64), (8, 48), (5, 37)])
def test_elements_that_lie_apart_go_to_neighbouring_lanes(
    rows: int, half: int, arch: str, kernels: Any
) -> None:
    x, table = torch.randn(rows, half, 2).half(), torch.randn(rows, half).half()
    out = torch.zeros_like(x)
    pairs_kernel[(1,)](x, table, out, rows, half, ROWS=8, HALF=64, num_warps=2)
    want = torch.stack((x[..., 0] * table, x[..., 1] - table), -1)
    torch.testing.assert_close(out, want)
    # 8 neighbours a thread would touch 32 sectors with each store of 2 bytes.
    assert re.search(r"lanes = \[1, 2, 4, 8, 16\]", kernels[0].asm["tlg"])
    assert barriers(kernels[0]) == 0


@triton.jit
def apart_dot_kernel(a_ptr, b_ptr, c_ptr, depth, row_a, column_a, row_b, column_b,
                     BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    rows, columns, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, depth, BK):
        at = start + k
        a_ptrs = a_ptr + rows[:, None] * row_a + at[None, :] * column_a
        if start + BK <= depth:
            a = tl.load(a_ptrs)
        else:
            a = tl.load(a_ptrs, mask=at[None, :] < depth, other=0.0)
        b_ptrs = b_ptr + at[:, None] * row_b + columns[None, :] * column_b
        b = tl.load(b_ptrs, mask=at[:, None] < depth, other=0.0)
        total = tl.dot(a, b, total)
    tl.store(c_ptr + rows[:, None] * BN + columns[None, :], total)


@pytest.mark.parametrize("arch", ["sm_90a"])
@pytest.mark.parametrize("depth", [32, 45])
def test_elements_that_lie_apart_go_to_shared_memory_in_vectors(
    depth: int, arch: str, kernels: Any
) -> None:
    """Nothing is known of the strides: elements are loaded one by one, by lanes side by side, and a
    thread has neighbouring rows to write in one piece. The first operand comes out of branches."""
    m, n = 64, 64
    a, b = torch.randn(m, depth, 3).half()[..., 0], torch.randn(depth, n, 3).half()[..., 0]
    c = torch.empty(m, n)
    apart_dot_kernel[(1,)](
        a, b, c, depth, a.stride(0), a.stride(1), b.stride(0), b.stride(1),
        BM=m, BN=n, BK=32, num_warps=4, num_stages=1,
    )  # fmt: skip
    torch.testing.assert_close(c, a.float() @ b.float(), rtol=1e-3, atol=1e-3)
    text = kernels[0].asm["ptx"]
    assert "wgmma" in text
    # Two tiles of 64 x 32 elements, and the result on its way out: 16 bytes a store of 128 threads.
    tiles, result = 2 * 64 * 32 * 2, 64 * 64 * 4
    assert len(re.findall(r"st\.shared\S*\.v4\.b32", text)) == (tiles + result) // (16 * 128)
    assert not re.findall(r"st\.shared\S*\.b16", text)


@triton.jit
def packed_dot_kernel(
    a_ptr, b_ptr, scale_ptr, c_ptr, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr
):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a_ptrs = a_ptr + m[:, None] * depth + k[None, :]
    b_ptrs = b_ptr + (k[:, None] // 2) * N + n[None, :]
    scale = tl.load(scale_ptr + n)[None, :]
    total = tl.zeros((M, N), tl.float32)
    for _ in range(0, depth, K):
        a = tl.load(a_ptrs).to(tl.float32)
        b = (tl.load(b_ptrs) >> (k[:, None] % 2 * 4)) & 15
        total += tl.dot(a, (b.to(tl.float32) - 8) * scale)
        a_ptrs += K
        b_ptrs += K // 2 * N
    tl.store(c_ptr + m[:, None] * N + n[None, :], total)


@pytest.mark.parametrize("arch", ["sm_90a"])
@pytest.mark.parametrize("depth", [0, 32, 96])
def test_what_is_computed_lies_where_its_store_meets_no_conflicts(
    depth: int, arch: str, kernels: Any
) -> None:
    """The second operand comes in rows, and lies along K for the dot. In the layout of the load all
    lanes would store to the same banks."""
    m, n, k = 64, 256, 32
    a = torch.randint(-4, 5, (m, depth)).half()
    packed = torch.randint(0, 256, (depth // 2, n), dtype=torch.uint8)
    scale = 2.0 ** torch.randint(-2, 3, (n,))
    c = torch.empty(m, n)
    packed_dot_kernel[(1,)](a, packed, scale, c, depth, M=m, N=n, K=k, num_warps=4)
    b = torch.stack([packed & 15, packed >> 4], 1).view(depth, n).float() - 8
    assert torch.equal(c, a.float() @ (b * scale))
    text = kernels[0].asm["tlg"]
    (name,) = re.findall(r"tlg\.local_store .* : tensor<32x256xf32, #(\w+)>", text)
    (lanes,) = re.findall(rf"#{name} = .* lanes = \[([^]]*)\]", text)
    along_k = [basis for basis in lanes.split(", ") if int(basis) >= n]
    assert len(along_k) >= 2


@triton.jit
def reverse_kernel(x_ptr, n, BLOCK: tl.constexpr):
    """Both halves of a row change places."""
    low = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    high = n - 1 - low
    left = tl.load(x_ptr + low, mask=low < n // 2)
    right = tl.load(x_ptr + high, mask=high >= (n + 1) // 2)
    tl.store(x_ptr + low, right, mask=low < n // 2)
    tl.store(x_ptr + high, left, mask=high >= (n + 1) // 2)


@ARCHS
@pytest.mark.parametrize("n", [2048, 1999, 16])
def test_rows_that_run_down_leave_no_gaps(n: int, arch: str, kernels: Any) -> None:
    """Their stores take one element: lanes with four of them would touch each sector four times."""
    x = torch.randn(n)
    want = x.flip(0)
    reverse_kernel[(-(-n // 2048),)](x, n, BLOCK=1024)
    assert torch.equal(x, want)
    ptx = kernels[0].asm["ptx"]
    assert re.search(r"st\.global\.b32", ptx) and not re.search(r"global\.v[24]", ptx)
    assert barriers(kernels[0]) == 0  # the rows that run up need no other layout


@triton.jit(do_not_specialize=["column", "taps"])
def planes_kernel(x_ptr, w_ptr, out_ptr, channels, height, width, plane: int, row: int, column: int,
                  filter_stride, tap_stride: int, taps: int, PIXELS: tl.constexpr,
                  CHANNELS: tl.constexpr, FILTERS: tl.constexpr):  # fmt: skip
    """A convolution by 1 x 3 taps, with zeros beside each row."""
    pixel = tl.program_id(0) * PIXELS + tl.arange(0, PIXELS)
    across, down = pixel % width, pixel // width
    channel, filters = tl.arange(0, CHANNELS), tl.arange(0, FILTERS)
    total = tl.zeros((PIXELS, FILTERS), tl.float32)
    for tap in range(taps):
        at = across + tap - 1
        x_ptrs = x_ptr + (down * row + at * column)[:, None] + (channel * plane)[None, :]
        inside = (down < height) & (at >= 0) & (at < width)
        x = tl.load(x_ptrs, mask=inside[:, None] & (channel < channels)[None, :], other=0.0)
        w_ptrs = w_ptr + (channel * tap_stride)[:, None] + (filters * filter_stride)[None, :] + tap
        total = tl.dot(x, tl.load(w_ptrs, mask=(channel < channels)[:, None], other=0.0), total)
    out_ptrs = out_ptr + pixel[:, None] * FILTERS + filters[None, :]
    tl.store(out_ptrs, total, mask=(down < height)[:, None])


@ARCHS
@pytest.mark.parametrize(("height", "width"), [(4, 28), (8, 14), (5, 23), (1, 1)])
@pytest.mark.parametrize("taps", [3, 1, 0])
@pytest.mark.parametrize("is_large", [False, True])
def test_lanes_lie_along_rows_of_an_image_of_any_width(
    is_large: bool, taps: int, height: int, width: int, arch: str, kernels: Any
) -> None:
    """Where rows begin is not known, nor that pixels are neighbours (nothing is told of their
    stride), only that planes of channels are far apart."""
    channels, filters = 32, 128 if is_large else 64
    x = torch.randn(channels, 160).half()[:, : height * width].view(channels, height, width)
    w = torch.randn(filters, channels, 3).half() / 8
    out = torch.empty(height * width, filters)
    pixels = filters
    grid = (-(-height * width // pixels),)
    planes_kernel[grid](
        x, w, out, channels, height, width, *x.stride(), w.stride(0), w.stride(1), taps,
        PIXELS=pixels, CHANNELS=32, FILTERS=filters, num_warps=8 if is_large else 4,
    )  # fmt: skip
    padded = torch.nn.functional.pad(x.float(), (1, 1))
    want = torch.zeros(height, width, filters)
    for tap in range(taps):
        want += torch.einsum("chw,fc->hwf", padded[..., tap : tap + width], w[..., tap].float())
    torch.testing.assert_close(out, want.reshape(-1, filters), rtol=1e-3, atol=1e-3)
    first = r"tl\.load .*tlg\.vector = array<i32: 0, 1>.*-> tensor<{}x{}xf16"
    for tile in ((pixels, 32), (32, filters)):
        assert re.search(first.format(*tile), kernels[0].asm["tlg"])
    # Nothing can be copied in pieces of 2 bytes.
    early = kernels[0].asm["plan"].count("into registers, an iteration early")
    assert early == (2 if is_large else 0)


@triton.jit
def images_kernel(
    x_ptr, out_ptr, channels, height, width, PIXELS: tl.constexpr, CHANNELS: tl.constexpr
):
    pixel, channel = tl.arange(0, PIXELS), tl.arange(0, CHANNELS)
    across, down = pixel % width - 1, pixel // width
    x_ptrs = x_ptr + (down * width + across)[:, None] + (channel * height * width)[None, :]
    inside = (down < height) & (across >= 0)
    x = tl.load(x_ptrs, mask=inside[:, None] & (channel < channels)[None, :], other=0.0)
    tl.store(out_ptr + pixel, tl.sum(x, 1), mask=pixel < height * width)


@ARCHS
def test_a_plane_is_taken_for_more_than_one_element(arch: str, kernels: Any) -> None:
    """Its size is a product of arguments, of which nothing is known but that they are not 1."""
    x = torch.randn(21, 5, 23)
    out = torch.empty(5, 23)
    images_kernel[(1,)](x, out, 21, 5, 23, PIXELS=128, CHANNELS=32)
    want = torch.nn.functional.pad(x.sum(0), (1, 0))[:, :-1]
    torch.testing.assert_close(out, want, rtol=1e-5, atol=1e-5)
    loads = r"tl\.load .*tlg\.vector = array<i32: 0, 1>.*-> tensor<128x32xf32"
    assert re.search(loads, kernels[0].asm["tlg"])
