"""Tensor descriptors made in the kernel: rank 1 to 5 from tuples of the launch, padding, rows by
gather and scatter, reductions in memory, descriptors that a loop carries.
"""

import blockscope as triton
import blockscope.language as tl
import pytest
from blockscope.tools.tensor_descriptor import TensorDescriptor

torch = pytest.importorskip("torch")


@triton.jit
def copy_kernel(x, out, shape, strides, out_strides, BLOCK, PADDING: tl.constexpr):
    source = tl.make_tensor_descriptor(x, shape, strides, BLOCK, padding_option=PADDING)
    target = tl.make_tensor_descriptor(out, BLOCK, out_strides, BLOCK)
    zero = (0,) * len(BLOCK)
    target.store(zero, source.load(zero))


def run_copy(shape, block, dtype, device, padding="zero"):
    """A block as large as the tensor or larger: outside of the tensor it is padding."""
    whole = torch.arange(torch.Size(shape).numel(), device=device).reshape(shape).to(dtype)
    x = whole[..., : shape[-1] - 3]  # rows keep their distance
    out = torch.full(block, 77, dtype=dtype, device=device)
    copy_kernel[(1,)](
        x, out, x.shape, x.stride(), out.stride(), tuple(map(tl.constexpr, block)), padding
    )  # fmt: skip
    want = torch.full(block, float("nan") if padding == "nan" else 0, dtype=dtype)
    want[tuple(slice(0, size) for size in x.shape)] = x.cpu()
    torch.testing.assert_close(out.cpu(), want, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.float16, torch.int32, torch.float32])
@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5])
def test_ranks(rank, dtype, device):
    run_copy((1, 2, 3, 5, 16)[-rank:], (2, 2, 4, 8, 16)[-rank:], dtype, device)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_padding(dtype, device):
    run_copy((3, 16), (8, 16), dtype, device, "nan")


@triton.jit
def gather_kernel(x, rows, out, column, X: tl.constexpr, Y: tl.constexpr, BX: tl.constexpr,
                  BY: tl.constexpr, PADDING: tl.constexpr):  # fmt: skip
    i = tl.load(rows + tl.arange(0, BX))
    source = tl.make_tensor_descriptor(x, [X, Y], [Y, 1], [1, BY], PADDING)
    at = tl.arange(0, BX)[:, None] * BY + tl.arange(0, BY)[None, :]
    tl.store(out + at, source.gather(i, column))


def rows_of(count, limit, dtype, device):
    """Rows of a tensor, each once, and two that it does not have."""
    rows = torch.randperm(limit)[:count].to(dtype)
    rows[1], rows[-1] = -1, limit
    return rows.to(device)


def run_gather(shape, block, column, dtype, device, index=torch.int32, padding="zero"):
    x = torch.arange(shape[0] * shape[1]).reshape(shape).to(dtype).to(device)
    rows = rows_of(block[0], shape[0], index, device)
    out = torch.full(block, 77, dtype=dtype, device=device)
    gather_kernel[(1,)](x, rows, out, column, *shape, *block, padding)
    want = torch.full(block, float("nan") if padding == "nan" else 0, dtype=dtype)
    width = min(block[1], shape[1] - column)
    for i, row in enumerate(rows.tolist()):
        if 0 <= row < shape[0]:
            want[i, :width] = x[row, column : column + width].cpu()
    torch.testing.assert_close(out.cpu(), want, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("index", [torch.int16, torch.int32, torch.int64])
@pytest.mark.parametrize("column", [0, 3, 40])
@pytest.mark.parametrize("dtype", [torch.int8, torch.float16, torch.float32])
def test_gather(dtype, column, index, device):
    run_gather((40, 64), (32, 32), column, dtype, device, index)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_gather_pads(dtype, device):
    run_gather((40, 64), (8, 16), 56, dtype, device, padding="nan")


@triton.jit
def scatter_kernel(x, rows, out, column, X: tl.constexpr, Y: tl.constexpr, BX: tl.constexpr,
                   BY: tl.constexpr):  # fmt: skip
    i = tl.load(rows + tl.arange(0, BX))
    at = tl.arange(0, BX)[:, None] * BY + tl.arange(0, BY)[None, :]
    target = tl.make_tensor_descriptor(out, [X, Y], [Y, 1], [1, BY])
    target.scatter(tl.load(x + at), i, column)


def run_scatter(shape, block, column, dtype, device):
    x = torch.arange(block[0] * block[1]).reshape(block).to(dtype).to(device)
    rows = rows_of(block[0], shape[0], torch.int32, device)
    out = torch.full(shape, 77, dtype=dtype, device=device)
    scatter_kernel[(1,)](x, rows, out, column, *shape, *block)
    want = torch.full(shape, 77, dtype=dtype)
    width = min(block[1], shape[1] - column)
    for i, row in enumerate(rows.tolist()):
        if 0 <= row < shape[0]:
            want[row, column : column + width] = x[i, :width].cpu()
    torch.testing.assert_close(out.cpu(), want, rtol=0, atol=0)


@pytest.mark.parametrize("column", [0, 3, 40])
@pytest.mark.parametrize("dtype", [torch.int8, torch.float16, torch.float32])
def test_scatter(dtype, column, device):
    run_scatter((40, 64), (32, 32), column, dtype, device)


@triton.jit
def reduce_kernel(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr, KIND: tl.constexpr):
    target = tl.make_tensor_descriptor(out, [M, N], [N, 1], [BM, BN])
    rows, columns = tl.arange(0, BM)[:, None], tl.arange(0, BN)[None, :]
    value = tl.load(x + (tl.program_id(0) * BM + rows) * BN + columns)
    at = [5, 8]  # all programs meet
    if KIND == "add":
        target.atomic_add(at, value)
    elif KIND == "min":
        target.atomic_min(at, value)
    elif KIND == "max":
        target.atomic_max(at, value)
    elif KIND == "and":
        target.atomic_and(at, value)
    elif KIND == "or":
        target.atomic_or(at, value)
    else:
        target.atomic_xor(at, value)


REDUCTIONS = {
    "add": torch.add,
    "min": torch.minimum,
    "max": torch.maximum,
    "and": torch.bitwise_and,
    "or": torch.bitwise_or,
    "xor": torch.bitwise_xor,
}


def run_reduce(kind, dtype, device, programs=4):
    """Small integers, exact in every dtype; the block ends outside of the tensor."""
    random = torch.Generator().manual_seed(1)
    x = torch.randint(0, 50, (programs, 8, 16), generator=random).to(dtype)
    out = torch.randint(0, 50, (10, 20), generator=random).to(dtype)
    want = out.clone()
    for block in x:
        want[5:, 8:] = REDUCTIONS[kind](want[5:, 8:], block[:5, :12])
    got = out.to(device)
    reduce_kernel[(programs,)](x.to(device), got, 10, 20, 8, 16, kind)
    torch.testing.assert_close(got.cpu(), want, rtol=0, atol=0)


SUMS = [torch.int32, torch.float32, torch.float16, torch.bfloat16]
REDUCED = [("add", dtype) for dtype in SUMS]
REDUCED += [
    (kind, dtype)
    for kind in ("min", "max", "and", "or", "xor")
    for dtype in (torch.int32, torch.int64)
]


@pytest.mark.parametrize(("kind", "dtype"), REDUCED)
def test_reductions(kind, dtype, device):
    run_reduce(kind, dtype, device)


@triton.jit
def carried_kernel(x, y, M, N, BM: tl.constexpr, BN: tl.constexpr):
    target = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN])
    for i in range(0, N, BN):
        if i == BN:
            target = tl.make_tensor_descriptor(y, [M, N], [N, 1], [BM, BN])
        target.store([0, i], target.load([0, i]) + 10)
    i = 0
    while i < N:
        target.store([0, i], target.load([0, i]) * 2)
        i += BN


def run_carried(device):
    x = torch.arange(8.0 * 96).reshape(8, 96).to(device)
    y = -x
    want_x, want_y = x.clone(), y.clone()
    want_x[:, :32] += 10
    want_y[:, 32:] += 10
    want_y *= 2
    carried_kernel[(1,)](x, y, 8, 96, 8, 32)
    assert torch.equal(x, want_x) and torch.equal(y, want_y)


def test_carried_through_loops(device):
    run_carried(device)


@triton.jit
def rounding_kernel(source, out, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + at, source.load([0, 0]))


def run_rounding(device):
    """To 10 bits after the point, to nearest, ties away from zero; infinity and NaN stay."""
    n = 32
    bits = torch.randint(-(2**31), 2**31, (n, n), dtype=torch.int64)
    ties = [0x3F801000, 0x3F803000, 0x3F800FFF, -0x407FF000, 0x7F7FFFFF]
    bits[0, : len(ties)] = torch.tensor(ties)
    odd = torch.tensor([float("inf"), float("-inf"), float("nan"), -0.0])
    bits[1, : len(odd)] = odd.view(torch.int32)
    x = bits.to(torch.int32).view(torch.float32).to(device)
    out = torch.empty_like(x)
    descriptor = TensorDescriptor.from_tensor(x, [n, n], round_f32_to_tf32=True)
    rounding_kernel[(1,)](descriptor, out, n)
    is_finite = (bits & 0x7F800000) != 0x7F800000
    want = torch.where(is_finite, (bits + 0x1000) & ~0x1FFF, bits).to(torch.int32)
    assert torch.equal(out.cpu().view(torch.int32), want)
    infinity = float("inf")
    found = out[0, : len(ties)].tolist()
    assert found == [1 + 2**-10, 1 + 2**-9, 1, -1 - 2**-10, infinity]


def test_rounding(device):
    run_rounding(device)
