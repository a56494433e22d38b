"""What threads would compute several times, or hold too early: small tiles, rows that are combined,
remainders, choices from tables. PTX run by ptx_machine.py."""

from __future__ import annotations

import re
from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import machine_backend
import numpy as np
import pytest

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)


@triton.jit
def waves(x_ptr, k_ptr, out_ptr, N: tl.constexpr, M: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    k = tl.load(k_ptr + tl.arange(0, M))
    angle = k[:, None] * x[None, :]
    tl.store(out_ptr + tl.arange(0, N), tl.sum(tl.sin(angle) + tl.cos(angle) * k[:, None], axis=0))


@pytest.mark.parametrize(("n", "m"), [(4, 8), (2, 16), (8, 4), (4, 4), (1, 32)])
def test_lanes_share_functions_of_small_tiles(
    n: int, m: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(2)
    kernels = machine_backend.record(monkeypatch, "sm_90a")
    x, k, out = torch.randn(n), torch.randn(m) * 4, torch.zeros(n)
    waves[(1,)](x, k, out, N=n, M=m)
    angle = k.double()[:, None] * x.double()
    want = (angle.sin() + angle.cos() * k.double()[:, None]).sum(0)
    torch.testing.assert_close(out.double(), want, rtol=1e-5, atol=1e-5)
    if (n, m) == (4, 8):  # one element for each lane
        assert "registers = [], lanes = [" in tile_layout(kernels[0], "8x4xf32")


def tile_layout(kernel: Any, shape: str) -> str:
    code = kernel.asm["ttgir"]
    name = re.search(rf"math\.sin .* : tensor<{shape}, (#\w+)>", code)[1]
    return re.search(rf"^{name} = (.*)$", code, re.M)[1]


@triton.jit
def remainders(out, x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i) % tl.load(y + i))


@triton.jit
def remainders_by_number(out, x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i) % y)


def numbers_near_multiples() -> tuple[np.ndarray, np.ndarray]:
    """Quotients that are whole, or next to that, or large; signs, zeros, infinities, NaN and the
    smallest and largest divisors."""
    random = np.random.default_rng(4)
    y = (random.uniform(0.5, 1, 256) * 2.0 ** random.integers(-120, 100, 256)).astype(np.float32)
    whole = random.integers(0, 1 << 19, 256).astype(np.float32)
    x = (whole * y).astype(np.float32)
    x[64:128] = np.nextafter(x[64:128], np.float32(0))
    x[128:192] = np.nextafter(x[128:192], np.float32(np.inf))
    x[192:224] = y[192:224] * np.float32(3e6)
    x[::2] *= -1
    y[::3] *= -1
    special = np.array([0, -0.0, np.inf, np.nan, 1e-45, 3e38, -3.4e38, 1, 2.0**127], np.float32)
    left, right = (each.ravel() for each in np.meshgrid(special, special))
    x[224:] = np.resize(left, 32)
    y[224:] = np.resize(right, 32)
    return x, y


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("size", [256, 32])
def test_remainders_are_exact(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    machine_backend.record(monkeypatch, "sm_90a")
    x, y = numbers_near_multiples()
    for begin in range(0, 256, size):
        part = slice(begin, begin + size)
        out = torch.zeros(size)
        remainders[(1,)](out, torch.from_numpy(x[part]), torch.from_numpy(y[part]), N=size)
        np.testing.assert_array_equal(out.numpy(), np.fmod(x[part], y[part]))
        signs = np.signbit(out.numpy()) == np.signbit(np.fmod(x[part], y[part]))
        assert (signs | np.isnan(out.numpy())).all()


@pytest.mark.parametrize("divisor", [0.3, 7.0, -2.5, 1e-3])
def test_remainders_by_one_number(divisor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    machine_backend.record(monkeypatch, "sm_90a")
    x = (np.arange(-64, 64) * np.float32(divisor) * np.float32(0.5)).astype(np.float32)
    out = torch.zeros(128)
    remainders_by_number[(1,)](out, torch.from_numpy(x), divisor, N=128)
    np.testing.assert_array_equal(out.numpy(), np.fmod(x, np.float32(divisor)))


@triton.jit
def from_table(out, code_ptr, table_ptr, N: tl.constexpr, BITS: tl.constexpr, COUNT: tl.constexpr):
    i = tl.arange(0, N)
    code = (tl.load(code_ptr + i) >> 1) & ((1 << BITS) - 1)
    result = tl.full([N], -7.0, tl.float32)
    for c in tl.static_range(COUNT):
        result = tl.where(code == c, tl.load(table_ptr + c).to(tl.float32), result)
    tl.store(out + i, result.to(tl.float16))


@triton.jit
def from_constants(out, code_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    code = tl.load(code_ptr + i).to(tl.int32) & 7
    low = tl.where(code == 0, 0.0, tl.where(code == 1, 0.5, tl.where(code == 2, 1.0, 1.5)))
    high = tl.where(code == 4, 2.0, tl.where(code == 5, 3.0, tl.where(code == 6, 4.0, 6.0)))
    tl.store(out + i, tl.where(code < 4, low, high))


@pytest.mark.parametrize(("bits", "count"), [(4, 16), (4, 11), (3, 8), (3, 6), (5, 32), (4, 5)])
def test_choices_from_tables(bits: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = machine_backend.record(monkeypatch, "sm_90a")
    torch.manual_seed(6)
    codes = torch.arange(256).to(torch.uint8)
    # Neighbours that are there are read with the others, up to the next 16 bytes.
    table, out = torch.randn(32).half(), torch.zeros(256).half()
    from_table[(1,)](out, codes, table, N=256, BITS=bits, COUNT=count)
    at = (codes.long() >> 1) & ((1 << bits) - 1)
    want = torch.where(at < count, table[at.clamp(max=count - 1)], torch.tensor(-7.0).half())
    assert torch.equal(out, want)
    if count == 16:  # a thread has two codes: four bits of each are asked for, not 16 numbers
        assert len(re.findall(r"setp\.", kernels[0].asm["ptx"])) <= 10


def test_choices_of_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    machine_backend.record(monkeypatch, "sm_90a")
    codes, out = torch.arange(256).to(torch.uint8), torch.zeros(256)
    from_constants[(1,)](out, codes, N=256)
    values = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
    assert torch.equal(out, values[codes.long() & 7])


@triton.jit
def rounded_to_codes(x_ptr, out_ptr, code_ptr, N: tl.constexpr, STORES: tl.constexpr):
    """Numbers of four bits and back, as a quantisation does that is tried out."""
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    size = tl.abs(x)
    code = tl.where(
        size <= 0.25, 0, tl.where(size < 0.75, 1, tl.where(size <= 1.25, 2, tl.where(
            size < 1.75, 3, tl.where(size <= 2.5, 4, tl.where(
                size < 3.5, 5, tl.where(size <= 5.0, 6, 7)))))))  # fmt: skip
    code = code.to(tl.uint8)
    sign = tl.where(x >= 0.0, 0, 1).to(tl.uint8)
    if STORES:
        tl.store(code_ptr + i, code | (sign << 3))
    back = tl.where(code == 4, 2, tl.where(code == 5, 3, tl.where(code == 6, 4, 6))).to(tl.float32)
    back = tl.where(code == 3, 1.5, back)
    back = tl.where(code == 2, 1.0, back)
    back = tl.where(code == 1, 0.5, back)
    back = tl.where(code == 0, 0.0, back).to(tl.float16)
    tl.store(out_ptr + i, back * tl.where(sign == 0, 1, -1).to(tl.float16))


@pytest.mark.parametrize("stores", [False, True])
def test_results_of_choices_are_chosen(stores: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = machine_backend.record(monkeypatch, "sm_90a")
    edges = torch.tensor([0.0, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 9.0, float("inf")])
    near = torch.cat([edges.nextafter(torch.tensor(0.0)), edges, edges.nextafter(edges + 1)])
    x = torch.cat([near, -near, torch.tensor([float("nan")])])
    x = torch.cat([x, torch.randn(128 - len(x)) * 3])
    out, codes = torch.zeros(128).half(), torch.zeros(128).to(torch.uint8)
    rounded_to_codes[(1,)](x, out, codes, N=128, STORES=stores)
    size, values = x.abs(), torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
    want = torch.full((128,), 7)
    for code, limit in reversed(list(enumerate([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0]))):
        want = torch.where(size <= limit if code % 2 == 0 else size < limit, code, want)
    sign = (~(x >= 0)).long()
    assert torch.equal(out.double(), (values[want] * (1 - 2 * sign)).double())
    if stores:
        assert torch.equal(codes.long(), want | (sign << 3))
    else:  # seven limits and a sign, and no code
        assert len(re.findall(r"setp\.", kernels[0].asm["ptx"])) <= 9


@triton.jit
def steps_of_choices(x_ptr, out_ptr, N: tl.constexpr):
    """Choices in all orders: of two numbers, inverted, of those that are themselves chosen, and by
    conditions that are computed of them."""
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    first = tl.where(x > 3, tl.where(x > 7, tl.where(x > 11, 5, -2), 9), 4)
    second = tl.where(first == 9, x, first * 3 - 1)
    third = tl.where((first & 1) == 1, tl.where(x == 5, 1, 2), 3)
    fourth = tl.where(first > 4, 8, tl.where(third == 3, 6, 7))
    tl.store(out_ptr + i, second)
    tl.store(out_ptr + N + i, third * 16 + fourth)
    tl.store(out_ptr + 2 * N + i, (first << 2) ^ (first >> 1))


def test_choices_of_all_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    machine_backend.record(monkeypatch, "sm_90a")
    x = torch.randint(-3, 16, (128,), dtype=torch.int32)
    out = torch.zeros(3, 128, dtype=torch.int32)
    steps_of_choices[(1,)](x, out, N=128)
    where = torch.where
    first = where(x > 3, where(x > 7, where(x > 11, 5, -2), 9), 4)
    third = where((first & 1) == 1, where(x == 5, 1, 2), 3)
    fourth = where(first > 4, 8, where(third == 3, 6, 7))
    want = [where(first == 9, x, first * 3 - 1), third * 16 + fourth, (first << 2) ^ (first >> 1)]
    assert torch.equal(out, torch.stack(want).to(torch.int32))


@triton.jit
def pairs_of_scattered(at_ptr, row_ptr, value_ptr, out_ptr, K, D: tl.constexpr, B: tl.constexpr):
    """A Gram matrix of sparse columns: what is loaded for rows and columns lies anywhere."""
    first = tl.program_id(0) * B + tl.arange(0, B)
    second = tl.program_id(1) * B + tl.arange(0, B)
    a = tl.load(at_ptr + first, mask=first < K, other=0)
    b = tl.load(at_ptr + second, mask=second < K, other=0)
    total = tl.zeros((B, B), tl.float32)
    for p in tl.static_range(D):
        row_a = tl.load(row_ptr + a * D + p, mask=first < K, other=-1)
        value_a = tl.load(value_ptr + a * D + p, mask=first < K, other=0.0)
        for q in tl.static_range(D):
            row_b = tl.load(row_ptr + b * D + q, mask=second < K, other=-2)
            value_b = tl.load(value_ptr + b * D + q, mask=second < K, other=0.0)
            equal = (row_a[:, None] == row_b[None, :]).to(tl.float32)
            total += equal * value_a[:, None] * value_b[None, :]
    inside = (first < K)[:, None] & (second < K)[None, :]
    tl.store(out_ptr + first[:, None] * K + second[None, :], total, mask=inside)


@pytest.mark.parametrize("k", [64, 48, 37])
def test_scattered_numbers_are_loaded_where_they_are_used(
    k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = machine_backend.record(monkeypatch, "sm_90a")
    at = torch.randperm(100)[:k].to(torch.int32)
    rows, values = torch.randint(0, 9, (100, 3), dtype=torch.int32), torch.randn(100, 3)
    out = torch.zeros(k, k)
    pairs_of_scattered[(-(-k // 32),) * 2](at, rows, values, out, k, D=3, B=32, num_warps=4)
    dense = torch.zeros(9, k, dtype=torch.float64)
    for p in range(3):
        place = rows[at.long(), p].long(), torch.arange(k)
        dense.index_put_(place, values[at.long(), p].double(), accumulate=True)
    torch.testing.assert_close(out.double(), dense.T @ dense, rtol=1e-5, atol=1e-5)
    if k % 16 == 0:  # whole vectors are stored
        assert "shfl" not in kernels[0].asm["ptx"] and "bar.sync" not in kernels[0].asm["ptx"]


@triton.jit
def mixed_rows(x_ptr, p_ptr, y_ptr, length, N: tl.constexpr, BLOCK: tl.constexpr):
    n = tl.arange(0, N)
    p = tl.reshape(tl.load(p_ptr + tl.arange(0, N * N)), (N, N))
    for start in range(0, length, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < length
        x = tl.load(x_ptr + n[:, None] * length + at[None, :], mask=inside[None, :], other=0.0)
        y = tl.sum(p[:, :, None] * x[None, :, :], axis=1)
        tl.store(y_ptr + n[:, None] * length + at[None, :], y, mask=inside[None, :])


@pytest.mark.parametrize(("dtype", "rows", "block"), [
    (torch.float32, 4, 128), (torch.float32, 2, 256), (torch.float16, 4, 256),
    (torch.float16, 2, 64), (torch.float32, 8, 128),
])  # fmt: skip
def test_few_rows_are_combined_in_threads(
    dtype: Any, rows: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = machine_backend.record(monkeypatch, "sm_90a")
    torch.manual_seed(7)
    length = 2 * block + 16
    x, p = torch.randn(rows, length).to(dtype), torch.randn(rows, rows)
    y = torch.zeros(rows, length)
    mixed_rows[(1,)](x, p, y, length, N=rows, BLOCK=block, num_warps=4)
    torch.testing.assert_close(y.double(), p.double() @ x.double(), rtol=1e-5, atol=1e-5)
    if (dtype, rows, block) == (torch.float32, 4, 128):
        assert "warps = [32, 64]" in kernels[0].asm["ttgir"].partition("module")[0]


@triton.jit
def best_of_rows(v_ptr, out_ptr, d, N: tl.constexpr, D: tl.constexpr, K: tl.constexpr):
    n, depth = tl.arange(0, N), tl.arange(0, D)
    v = tl.load(v_ptr + n[:, None] * d + depth[None, :], mask=depth[None, :] < d, other=0.0)
    score = tl.sum(v * v, axis=1)
    for i in tl.static_range(K):
        best = tl.max(score, axis=0)
        at = tl.min(tl.where(score == best, n, N), axis=0)
        tl.store(out_ptr + i, at)
        score = tl.where(n == at, float("-inf"), score)


@pytest.mark.parametrize("n", [1024, 256])
def test_lanes_share_what_is_left_of_rows(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = machine_backend.record(monkeypatch, "sm_90a")
    torch.manual_seed(8)
    v = torch.randint(-9, 9, (n, 7)).float()
    out = torch.zeros(4, dtype=torch.int32)
    best_of_rows[(1,)](v, out, 7, N=n, D=8, K=4, num_warps=4)
    score = (v * v).sum(1)
    want = torch.sort(score, descending=True, stable=True).indices[:4]
    assert out.tolist() == want.tolist()
    if n == 1024:  # 64 registers with eight copies become eight without
        assert "tlg.convert_layout" in kernels[0].asm["ttgir"]


@triton.jit
def rounded_at_random(p_ptr, g_ptr, out_ptr, state_ptr, seed, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    p, g = tl.load(p_ptr + i).to(tl.float32), tl.load(g_ptr + i).to(tl.float32)
    state = tl.load(state_ptr + i).to(tl.float32) * 0.9 + g * g
    p -= tl.div_rn(g, tl.sqrt_rn(state) + 1e-6)
    tl.store(state_ptr + i, state.to(tl.bfloat16))
    bits = (tl.randint(seed, i) & 0xFFFF) + p.to(tl.uint32, bitcast=True)
    tl.store(out_ptr + i, (bits & 0xFFFF0000).to(tl.float32, bitcast=True).to(tl.bfloat16))


def test_random_numbers_are_made_where_they_are_wanted() -> None:
    compiled = rounded_at_random.warmup(
        *[torch.bfloat16] * 4, 3, N=1024, grid=(1,), arch="sm_90a", num_warps=4
    )
    ptx = compiled.asm["ptx"]
    assert ptx.index("sqrt.rn") < ptx.index("mul.hi.u32", ptx.index("div.rn") - 2000)
    assert ptx.count("mul.hi.u32", 0, ptx.index("sqrt.rn")) < ptx.count("mul.hi.u32") // 4


@triton.jit
def places(x_ptr, out_ptr, count_ptr, rounds, N: tl.constexpr, REVERSE: tl.constexpr):
    i = tl.arange(0, N)
    found = 0
    for start in range(0, rounds * N, N):
        is_wanted = tl.load(x_ptr + start + i) > 0
        place = found + tl.cumsum(is_wanted.to(tl.int32), reverse=REVERSE) - 1
        tl.store(out_ptr + place, start + i, mask=is_wanted)
        found += tl.sum(is_wanted.to(tl.int32))
    tl.store(count_ptr, found)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("n", "is_one"), [(32, True), (16, True), (64, None), (512, False)])
def test_scans_of_one_warp_leave_the_others_free(
    n: int, is_one: bool | None, reverse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = machine_backend.record(monkeypatch, "sm_90a")
    torch.manual_seed(9)
    x = torch.randn(3 * n)
    out, count = torch.full((3 * n,), -1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    places[(1,)](x, out, count, 3, N=n, REVERSE=reverse, num_warps=4)
    want = []
    for part in range(3):
        found = [part * n + i for i in range(n) if x[part * n + i] > 0]
        want += found[::-1] if reverse else found
    assert count.item() == len(want)
    assert out[: len(want)].tolist() == want
    if is_one is not None:
        assert ("tlg.one_warp" in kernels[0].asm["ttgir"]) == is_one


@triton.jit
def padded(out_ptr, index_ptr, table_ptr, N: tl.constexpr, C: tl.constexpr):
    i = tl.arange(0, N)
    index = tl.load(index_ptr + i)
    value = tl.where(index == C, 0.0, tl.load(table_ptr + i))
    for c in tl.static_range(6):
        value = tl.where((index & 7) == c, value + c, value)
    tl.store(out_ptr + i, value)


@pytest.mark.parametrize("padding", [-1, -2, 3, 1 << 40])
def test_numbers_of_64_bits_are_compared(padding: int, monkeypatch: pytest.MonkeyPatch) -> None:
    machine_backend.record(monkeypatch, "sm_90a")
    index = torch.arange(-4, 28, dtype=torch.int64)
    index[5] = padding
    table, out = torch.randn(32), torch.zeros(32)
    padded[(1,)](out, index, table, N=32, C=padding)
    low = index & 7
    want = torch.where(index == padding, 0.0, table) + torch.where(low < 6, low, 0)
    assert torch.equal(out, want)
