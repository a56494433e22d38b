"""Blocks that change their layout: transposed accesses, shape ops, loops and branches, any number
of warps. Every kernel only moves data, so results are exact.
"""

import blockscope as triton
import blockscope.language as tl
import pytest

torch = pytest.importorskip("torch")

DTYPES = ["int8", "float16", "float32", "float64", "bool"]
WARPS = [1, 2, 4, 8]


def numbers(shape, dtype, device):
    count = torch.Size(shape).numel()
    if dtype == "bool":
        return (torch.randperm(count, device=device) % 3 == 0).reshape(shape)
    return torch.randperm(count, device=device).reshape(shape).to(getattr(torch, dtype))


@triton.jit
def transpose_kernel(x_ptr, out_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.arange(0, ROWS)
    columns = tl.arange(0, COLUMNS)
    x = tl.load(x_ptr + rows[:, None] * COLUMNS + columns[None, :])
    tl.store(out_ptr + columns[:, None] * ROWS + rows[None, :], tl.trans(x))


@pytest.mark.parametrize("warps", WARPS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape", [(1, 1), (2, 4), (16, 16), (128, 8), (8, 128), (64, 64), (32, 256)]
)
def test_transpose(shape, dtype, warps, device):
    x = numbers(shape, dtype, device)
    out = torch.zeros(shape[::-1], dtype=x.dtype, device=device)
    transpose_kernel[(1,)](x, out, *shape, num_warps=warps)
    assert torch.equal(out, x.T.contiguous())


@triton.jit
def column_major_kernel(x_ptr, out_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.arange(0, ROWS)
    columns = tl.arange(0, COLUMNS)
    x = tl.load(x_ptr + rows[:, None] + columns[None, :] * ROWS)
    tl.store(out_ptr + rows[:, None] * COLUMNS + columns[None, :], x)


@pytest.mark.parametrize("warps", WARPS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_column_major_to_row_major(dtype, warps, device):
    x = numbers((64, 128), dtype, device)
    out = torch.zeros(128, 64, dtype=x.dtype, device=device)
    column_major_kernel[(1,)](x, out, 128, 64, num_warps=warps)
    assert torch.equal(out, x.T.contiguous())


@triton.jit
def masked_kernel(x_ptr, out_ptr, rows_in, columns_in, stride, R: tl.constexpr, C: tl.constexpr):
    rows = tl.program_id(0) * R + tl.arange(0, R)
    columns = tl.program_id(1) * C + tl.arange(0, C)
    mask = (rows[:, None] < rows_in) & (columns[None, :] < columns_in)
    places = rows[:, None] * stride + columns[None, :]
    x = tl.load(x_ptr + places, mask=mask, other=7)
    tl.store(out_ptr + rows[:, None] * (C * tl.num_programs(1)) + columns[None, :], x)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [(1, 1), (5, 7), (64, 64), (63, 100), (100, 128), (37, 131)])
def test_masked_load_with_other(size, dtype, device):
    x = numbers(size, dtype, device)
    grid = (triton.cdiv(size[0], 16), triton.cdiv(size[1], 64))
    out = torch.zeros(grid[0] * 16, grid[1] * 64, dtype=x.dtype, device=device)
    masked_kernel[grid](x, out, *size, x.stride(0), 16, 64)
    expected = torch.full_like(out, 7)
    expected[: size[0], : size[1]] = x
    assert torch.equal(out, expected)


@triton.jit
def join_kernel(x_ptr, y_ptr, joined_ptr, cat_ptr, low_ptr, high_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    y = tl.load(y_ptr + offsets)
    joined = tl.join(x, y)
    tl.store(joined_ptr + offsets[:, None] * 2 + tl.arange(0, 2)[None, :], joined)
    tl.store(cat_ptr + tl.arange(0, 2 * N), tl.cat(x, y, can_reorder=False))
    low, high = tl.split(tl.reshape(tl.load(joined_ptr + 2 * N + tl.arange(0, 2 * N)), (N, 2)))
    tl.store(low_ptr + offsets, low)
    tl.store(high_ptr + offsets, high)


@pytest.mark.parametrize("warps", WARPS)
@pytest.mark.parametrize("size", [1, 2, 32, 128, 1024])
def test_join_cat_split(size, warps, device):
    x, y = numbers((size,), "float32", device), -numbers((size,), "float32", device)
    joined = torch.zeros(4 * size, device=device)
    pairs = numbers((2 * size,), "float32", device)
    joined[2 * size :] = pairs
    cat, low, high = torch.zeros(2 * size, device=device), torch.zeros_like(x), torch.zeros_like(x)
    join_kernel[(1,)](x, y, joined, cat, low, high, size, num_warps=warps)
    assert torch.equal(joined[: 2 * size].reshape(size, 2), torch.stack([x, y], -1))
    assert torch.equal(cat, torch.cat([x, y]))
    assert torch.equal(low, pairs.reshape(size, 2)[:, 0])
    assert torch.equal(high, pairs.reshape(size, 2)[:, 1])


@triton.jit
def reshape_kernel(x_ptr, out_ptr, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, A * B * C))
    x = tl.permute(tl.reshape(x, (A, B, C)), (2, 0, 1))
    tl.store(out_ptr + tl.arange(0, A * B * C), tl.ravel(x))


@pytest.mark.parametrize("warps", WARPS)
@pytest.mark.parametrize("shape", [(2, 2, 2), (4, 16, 8), (1, 64, 32), (32, 1, 4)])
def test_reshape_and_permute(shape, warps, device):
    x = numbers(shape, "float32", device)
    out = torch.zeros(x.numel(), device=device)
    reshape_kernel[(1,)](x, out, *shape, num_warps=warps)
    assert torch.equal(out, x.permute(2, 0, 1).reshape(-1))


@triton.jit
def loop_kernel(x_ptr, out_ptr, n, steps, BLOCK: tl.constexpr):
    """A pointer block, a value block and a scalar through for, while and if."""
    offsets = tl.arange(0, BLOCK)
    pointers = x_ptr + offsets
    total = tl.zeros((BLOCK,), dtype=tl.int32)
    count = 0
    for i in range(steps):
        x = tl.load(pointers, mask=offsets + i * BLOCK < n, other=0)
        if i % 2 == 0:
            total += x
        else:
            total -= x
            count += i
        pointers += BLOCK
    while count > 3:
        total = total * 2
        count = count // 2
    tl.store(out_ptr + offsets, total + count)


@pytest.mark.parametrize("warps", WARPS)
@pytest.mark.parametrize("n,steps", [(0, 0), (100, 1), (1000, 8), (999, 9)])
def test_loops_and_branches(n, steps, warps, device):
    block = 128
    x = torch.randint(-1000, 1000, (max(n, 1),), dtype=torch.int32, device=device)
    out = torch.zeros(block, dtype=torch.int32, device=device)
    loop_kernel[(1,)](x, out, n, steps, block, num_warps=warps)
    padded = torch.zeros(block * max(steps, 1), dtype=torch.int32, device=device)
    padded[:n] = x[:n]
    expected, count = torch.zeros(block, dtype=torch.int32, device=device), 0
    for i in range(steps):
        part = padded[i * block : (i + 1) * block]
        expected += part if i % 2 == 0 else -part
        count += i if i % 2 else 0
    while count > 3:
        expected, count = expected * 2, count // 2
    assert torch.equal(out, expected + count)


@triton.jit
def scalar_kernel(
    x_ptr, out_ptr, flag: tl.int1, small: tl.int8, half: tl.float16, wide: tl.float64
):
    pid = tl.program_id(0)
    x = tl.load(x_ptr + pid)
    if flag:
        x = x + small.to(tl.float32)
    tl.store(out_ptr + pid, x * half.to(tl.float32) + wide.to(tl.float32))


@pytest.mark.parametrize("flag", [True, False])
def test_scalars_of_every_width(flag, device):
    x = torch.rand(50, device=device)
    out = torch.zeros_like(x)
    scalar_kernel[(50,)](x, out, flag, -3, 0.5, 2.25)
    assert torch.equal(out, (x + (-3 if flag else 0)) * 0.5 + 2.25)


@triton.jit
def pointers_kernel(pointers_ptr, out_ptr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    source = tl.load(pointers_ptr + pid).to(tl.pointer_type(tl.float32))
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + pid * BLOCK + offsets, tl.load(source + offsets))


def test_pointers_from_memory(device):
    parts = [torch.rand(256, device=device) for _ in range(5)]
    pointers = torch.tensor([p.data_ptr() for p in parts], dtype=torch.int64, device=device)
    out = torch.zeros(5 * 256, device=device)
    pointers_kernel[(5,)](pointers, out, 256)
    assert torch.equal(out, torch.cat(parts))


@triton.jit
def modifiers_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    a = tl.load(x_ptr + offsets, mask=mask, cache_modifier=".ca", eviction_policy="evict_first")
    b = tl.load(x_ptr + offsets, mask=mask, cache_modifier=".cg")
    c = tl.load(x_ptr + offsets, mask=mask, eviction_policy="evict_last")
    d = tl.load(x_ptr + offsets, mask=mask, volatile=True)
    tl.store(out_ptr + offsets, a + b + c + d, mask=mask, cache_modifier=".wb")
    tl.store(out_ptr + n + offsets, a, mask=mask, eviction_policy="evict_first")


@pytest.mark.parametrize("n", [1000, 1024])
def test_modifiers(n, device):
    x = torch.rand(n, device=device)
    out = torch.zeros(2 * n, device=device)
    modifiers_kernel[(triton.cdiv(n, 256),)](x, out, n, 256)
    assert torch.equal(out[:n], x + x + x + x)
    assert torch.equal(out[n:], x)
