"""Programs of several CTAs (num_ctas): what they share, exchange and store once, against torch in
float64; and kernels that have to run as one CTA.
"""

import blockscope as triton
import blockscope.language as tl
import pytest
from test_dot import check, rand

torch = pytest.importorskip("torch")

CTAS = pytest.mark.parametrize("ctas", [2, 4])
HALF = torch.float16


def is_cluster(kernel) -> bool:
    return ".reqnctapercluster" in kernel.asm["ptx"]


def code(kernel) -> str:
    return kernel.asm["ttgir"]


# -- elementwise, reductions -----------------------------------------------------------------------


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, count_ptr, n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = index < n
    x = tl.load(x_ptr + index, inside)
    tl.store(out_ptr + index, x + tl.load(y_ptr + index, inside), inside)
    tl.store(count_ptr + tl.program_id(0), tl.num_programs(0))


@CTAS
@pytest.mark.parametrize("n", [1, 1000, 5000])
def test_elementwise(n, ctas, device):
    x, y = rand((n,), torch.float32, device), rand((n,), torch.float32, device)
    grid = triton.cdiv(n, 512)
    out, counts = torch.full_like(x, 7), torch.zeros(grid, dtype=torch.int32, device=device)
    kernel = add_kernel[(grid,)](x, y, out, counts, n, BLOCK=512, num_ctas=ctas)
    assert is_cluster(kernel) and "cluster_exchange" not in code(kernel)
    assert torch.equal(out, x + y)
    assert torch.equal(counts, torch.full_like(counts, grid))


@triton.jit
def softmax_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + column, column < n, -float("inf"))
    e = tl.exp(x - tl.max(x, 0))
    tl.store(out_ptr + row * n + column, e / tl.sum(e, 0), column < n)


@CTAS
def test_rows_that_ctas_share(ctas, device):
    x = rand((5, 700), torch.float32, device)
    out = torch.empty_like(x)
    kernel = softmax_kernel[(5,)](x, out, 700, BLOCK=1024, num_ctas=ctas)
    assert is_cluster(kernel) and code(kernel).count("tlg.cluster_exchange") == 2
    check(out, torch.softmax(x.double(), 1), 1e-6)


@triton.jit
def statistics_kernel(
    x_ptr, rows_ptr, columns_ptr, most_ptr, total_ptr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Sums of rows and columns, where each column is largest, and one number for all."""
    row, column = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    x = tl.load(x_ptr + row[:, None] * COLUMNS + column[None, :])
    tl.store(rows_ptr + row, tl.sum(x, 1))
    columns = tl.sum(x, 0)
    tl.store(columns_ptr + column, columns)
    tl.store(most_ptr + column, tl.argmax(x, 0))
    tl.store(total_ptr, tl.sum(columns, 0))


@CTAS
@pytest.mark.parametrize(("rows", "columns"), [(64, 32), (4, 256), (2, 2), (1, 64)])
def test_statistics(rows, columns, ctas, device):
    x = torch.randint(-9, 9, (rows, columns), device=device).float()  # with ties
    of_rows, of_columns = torch.empty(rows, device=device), torch.empty(columns, device=device)
    most = torch.empty(columns, dtype=torch.int32, device=device)
    total = torch.empty(1, device=device)
    kernel = statistics_kernel[(1,)](
        x, of_rows, of_columns, most, total, ROWS=rows, COLUMNS=columns, num_ctas=ctas
    )
    assert is_cluster(kernel) == (max(rows, columns) >= ctas)
    assert torch.equal(of_rows, x.sum(1)) and torch.equal(of_columns, x.sum(0))
    first = (x == x.max(0).values).int().argmax(0)
    assert torch.equal(most, first.int())
    assert total.item() == x.sum().item()


@triton.jit
def _minus(a, b):
    return a - b


@triton.jit
def ordered_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    tl.store(out_ptr, tl.reduce(x, 0, _minus))


@CTAS
def test_order_of_a_reduction(ctas, device):
    x = torch.arange(64, dtype=torch.int32, device=device) ** 2
    out = torch.empty(1, dtype=torch.int32, device=device)
    ordered_kernel[(1,)](x, out, BLOCK=64, num_ctas=ctas)
    want = x.clone()
    while want.numel() > 1:
        want = want[: want.numel() // 2] - want[want.numel() // 2 :]
    assert torch.equal(out, want)


# -- along an axis, shapes -------------------------------------------------------------------------


@triton.jit
def along_kernel(
    x_ptr, index_ptr, scan_ptr, other_ptr, sort_ptr, gather_ptr, counts_ptr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    row, column = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    at = row[:, None] * COLUMNS + column[None, :]
    x = tl.load(x_ptr + at)
    tl.store(scan_ptr + at, tl.cumsum(x, 0))
    tl.store(other_ptr + at, tl.cumsum(x, 1, reverse=True))
    tl.store(sort_ptr + at, tl.sort(x, 1))
    tl.store(gather_ptr + at, tl.gather(x, tl.load(index_ptr + at), 0))
    flat = tl.reshape(x, (ROWS * COLUMNS,))
    bins = tl.arange(0, 16)
    tl.store(counts_ptr + bins, tl.histogram(flat & 15, 16))


@CTAS
@pytest.mark.parametrize(("rows", "columns"), [(32, 16), (4, 64), (64, 4)])
def test_along_an_axis(rows, columns, ctas, device):
    x = torch.randint(0, 99, (rows, columns), dtype=torch.int32, device=device)
    index = torch.randint(0, rows, (rows, columns), dtype=torch.int32, device=device)
    scan, other, ordered, gathered = (torch.empty_like(x) for _ in range(4))
    counts = torch.empty(16, dtype=torch.int32, device=device)
    kernel = along_kernel[(1,)](
        x, index, scan, other, ordered, gathered, counts, ROWS=rows, COLUMNS=columns, num_ctas=ctas
    )
    assert is_cluster(kernel)
    assert torch.equal(scan, x.cumsum(0).int())
    assert torch.equal(other, x.flip(1).cumsum(1).flip(1).int())
    assert torch.equal(ordered, x.sort(1).values)
    assert torch.equal(gathered, x.gather(0, index.long()))
    assert torch.equal(counts, torch.bincount(x.flatten() & 15, minlength=16).int())


@triton.jit
def shapes_kernel(x_ptr, y_ptr, out_ptr, back_ptr, N: tl.constexpr, M: tl.constexpr):
    """Transposed, taken apart in pairs and put together, and one behind the other."""
    row, column = tl.arange(0, N), tl.arange(0, M)
    x = tl.load(x_ptr + row[:, None] * M + column[None, :])
    turned = tl.trans(x)
    first, second = tl.split(tl.reshape(turned, (M, N // 2, 2)))
    mixed = tl.reshape(tl.join(first + second, first - second), (M, N))
    tl.store(out_ptr + column[:, None] * N + row[None, :], mixed)
    y = tl.load(y_ptr + row)
    both = tl.cat(y, -y, can_reorder=False, dim=0)
    tl.store(back_ptr + tl.arange(0, 2 * N), both)


@CTAS
@pytest.mark.parametrize(("n", "m"), [(64, 32), (16, 128), (8, 2)])
def test_shapes(n, m, ctas, device):
    x = rand((n, m), torch.float32, device)
    y = rand((n,), torch.float32, device)
    out, back = torch.empty(m, n, device=device), torch.empty(2 * n, device=device)
    shapes_kernel[(1,)](x, y, out, back, N=n, M=m, num_ctas=ctas)
    pairs = x.T.reshape(m, n // 2, 2)
    first, second = pairs[..., 0], pairs[..., 1]
    assert torch.equal(out, torch.stack([first + second, first - second], -1).reshape(m, n))
    assert torch.equal(back, torch.cat([y, -y]))


# -- control flow ----------------------------------------------------------------------------------


@triton.jit
def loops_kernel(x_ptr, out_ptr, count_ptr, steps, BLOCK: tl.constexpr):
    """A block that a loop carries, one that a branch gives, a number from a while loop."""
    index = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    best = tl.full((BLOCK,), -1.0, tl.float32)
    for step in range(steps):
        x = tl.load(x_ptr + step * BLOCK + index)
        if tl.sum(x, 0) > 0:
            total += x
        else:
            total -= x
            best = tl.maximum(best, x)
    tl.store(out_ptr + index, total + best)
    left, count = tl.sum(tl.abs(total), 0), 0
    while left > 1:
        left /= 2
        count += 1
    tl.store(count_ptr, count)


@CTAS
@pytest.mark.parametrize("steps", [0, 1, 5])
def test_loops(steps, ctas, device):
    x = rand((max(steps, 1), 256), torch.float32, device)
    out = torch.empty(256, device=device)
    count = torch.empty(1, dtype=torch.int32, device=device)
    kernel = loops_kernel[(1,)](x, out, count, steps, BLOCK=256, num_ctas=ctas)
    assert is_cluster(kernel)
    total = torch.zeros(256, dtype=torch.float64, device=device)
    best = torch.full_like(total, -1)
    for row in x[:steps].double():
        if row.sum() > 0:
            total += row
        else:
            total -= row
            best = torch.maximum(best, row)
    check(out, total + best, 1e-5)
    left, want = total.abs().sum().item(), 0
    while left > 1:
        left, want = left / 2, want + 1
    assert count.item() == want


@triton.jit
def either_kernel(x_ptr, out_ptr, count, BLOCK: tl.constexpr):
    """Branches, each of which makes its pointers anew, and a program that ends early."""
    start = tl.program_id(0) * BLOCK
    if start >= count:
        return
    index = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + start + index)
    if tl.sum(x, 0) > 0:
        tl.store(out_ptr + start + index, x)
        return
    tl.store(out_ptr + start + index, tl.max(x, 0) - x)


@CTAS
def test_stores_of_branches(ctas, device):
    x = rand((5, 64), torch.float32, device)
    out = torch.full_like(x, 7)
    kernel = either_kernel[(5,)](x, out, 4 * 64, BLOCK=64, num_ctas=ctas)
    assert is_cluster(kernel)
    want = torch.where(x.sum(1, keepdim=True) > 0, x, x.max(1, keepdim=True).values - x)
    want[4] = 7
    assert torch.equal(out, want)


# -- dots ------------------------------------------------------------------------------------------


@triton.jit
def product_kernel(
    a_ptr, b_ptr, bias_ptr, c_ptr, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, DESCRIBED: tl.constexpr,
):  # fmt: skip
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    rows, columns = m + tl.arange(0, BM), n + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    if DESCRIBED:
        a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
        b_desc = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [BK, BN])
        for k in range(0, K, BK):
            acc = tl.dot(a_desc.load([m, k]), b_desc.load([k, n]), acc)
    else:
        for k in range(0, K, BK):
            along = k + tl.arange(0, BK)
            a = tl.load(a_ptr + rows[:, None] * K + along[None, :],
                        (rows < M)[:, None] & (along < K)[None, :], 0.0)  # fmt: skip
            b = tl.load(b_ptr + along[:, None] * N + columns[None, :],
                        (along < K)[:, None] & (columns < N)[None, :], 0.0)  # fmt: skip
            acc = tl.dot(a, b, acc)
    acc += tl.load(bias_ptr + columns, columns < N, 0.0)[None, :]
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc.to(c_ptr.dtype.element_ty), inside)


def run_product(tile, described, dtype, ctas, device, k=200, warps=4, stages=3, shape=(296, 264)):
    m, n = shape
    a, b = rand((m, k), dtype, device), rand((k, n), dtype, device)
    bias, c = rand((n,), torch.float32, device), torch.empty(m, n, device=device)
    kernel = product_kernel[(triton.cdiv(m, tile[0]), triton.cdiv(n, tile[1]))](
        a, b, bias, c, m, n, k, *tile, described,
        num_ctas=ctas, num_warps=warps, num_stages=stages,
    )  # fmt: skip
    check(c, a.double() @ b.double() + bias.double(), 2e-2 if dtype == torch.float32 else 1e-2)
    return kernel


@CTAS
@pytest.mark.parametrize("described", [False, True])
@pytest.mark.parametrize(
    "tile", [(256, 64, 64), (128, 128, 32), (64, 128, 64), (32, 32, 32), (16, 256, 32)]
)
def test_product(tile, described, ctas, device):
    kernel = run_product(tile, described, HALF, ctas, device)
    assert is_cluster(kernel) == (max(tile[:2]) // ctas >= 16)


@CTAS
@pytest.mark.parametrize("k", [0, 32, 64, 96, 320])
def test_copies_that_ctas_share(k, ctas, device):
    """One operand is wanted by all CTAs: each copies a part of it to all."""
    kernel = run_product((256, 64, 32), True, HALF, ctas, device, k, stages=4)
    if "cp.async.bulk" in kernel.asm["ptx"]:
        assert "multicast::cluster" in kernel.asm["ptx"]


@CTAS
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("warps", [4, 8])
def test_product_of(dtype, warps, ctas, device):
    assert is_cluster(run_product((256, 128, 32), True, dtype, ctas, device, warps=warps))


@triton.jit
def persistent_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, tiles,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    b_desc = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [BK, BN])
    c_desc = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN])
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        m, n = tile // tl.cdiv(N, BN) * BM, tile % tl.cdiv(N, BN) * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            acc = tl.dot(a_desc.load([m, k]), b_desc.load([k, n]), acc)
        c_desc.store([m, n], acc)


@CTAS
@pytest.mark.parametrize("programs", [1, 3, 7])
def test_persistent(programs, ctas, device):
    m, n, k, tile = 500, 264, 136, (256, 64, 32)
    a, b = rand((m, k), HALF, device), rand((k, n), HALF, device)
    c = torch.empty(m, n, device=device)
    tiles = triton.cdiv(m, tile[0]) * triton.cdiv(n, tile[1])
    kernel = persistent_kernel[(programs,)](a, b, c, m, n, k, tiles, *tile, num_ctas=ctas)
    assert is_cluster(kernel)
    check(c, a.double() @ b.double(), 1e-2)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, scale, COUNT,
    BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    rows, along = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + along[None, :], (rows < COUNT)[:, None], 0.0)
    most = tl.full((BM,), -float("inf"), tl.float32)
    total, acc = tl.zeros((BM,), tl.float32), tl.zeros((BM, D), tl.float32)
    for start in range(0, COUNT, BN):
        keys = start + tl.arange(0, BN)
        k = tl.load(k_ptr + keys[None, :] * D + along[:, None], (keys < COUNT)[None, :], 0.0)
        v = tl.load(v_ptr + keys[:, None] * D + along[None, :], (keys < COUNT)[:, None], 0.0)
        s = tl.where((keys < COUNT)[None, :], tl.dot(q, k) * scale, -float("inf"))
        now = tl.maximum(most, tl.max(s, 1))
        p = tl.exp(s - now[:, None])
        old = tl.exp(most - now)
        total = total * old + tl.sum(p, 1)
        acc = tl.dot(p.to(v.dtype), v, acc * old[:, None])
        most = now
    tl.store(out_ptr + rows[:, None] * D + along[None, :], acc / total[:, None],
             (rows < COUNT)[:, None])  # fmt: skip


@CTAS
def test_attention(ctas, device):
    count, d = 200, 64
    q, k, v = (rand((count, d), HALF, device) for _ in range(3))
    out = torch.empty(count, d, device=device)
    kernel = attention_kernel[(triton.cdiv(count, 128),)](
        q, k, v, out, d**-0.5, count, BM=128, BN=64, D=d, num_ctas=ctas
    )
    assert is_cluster(kernel) and "cluster_exchange" not in code(kernel)
    s = q.double() @ k.double().T * d**-0.5
    check(out, torch.softmax(s, 1) @ v.double(), 1e-2)


@triton.jit
def batched_kernel(a_ptr, b_ptr, c_ptr, B: tl.constexpr, N: tl.constexpr):
    batch, i = tl.arange(0, B)[:, None, None] * (N * N), tl.arange(0, N)
    at = batch + i[None, :, None] * N + i[None, None, :]
    c = tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at))
    tl.store(c_ptr + at, c)


@CTAS
def test_batched_product(ctas, device):
    a, b = rand((4, 32, 32), HALF, device), rand((4, 32, 32), HALF, device)
    c = torch.empty(4, 32, 32, device=device)
    assert is_cluster(batched_kernel[(1,)](a, b, c, B=4, N=32, num_ctas=ctas))
    check(c, a.double() @ b.double(), 1e-2)


@triton.jit
def scaled_kernel(
    a_ptr, a_scale_ptr, b_ptr, b_scale_ptr, c_ptr, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, A_FORMAT: tl.constexpr,
    A_PACK: tl.constexpr,
):  # fmt: skip
    m, n, groups = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK // 32)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        bytes_a, bytes_b = tl.arange(0, BK // A_PACK), tl.arange(0, BK // 2)
        a = tl.load(a_ptr + m[:, None] * (K // A_PACK) + (k // A_PACK + bytes_a)[None, :])
        b = tl.load(b_ptr + (k // 2 + bytes_b)[:, None] * BN + n[None, :])
        scale = (k // 32 + groups)[None, :]
        a_scale = tl.load(a_scale_ptr + m[:, None] * (K // 32) + scale)
        b_scale = tl.load(b_scale_ptr + n[:, None] * (K // 32) + scale)
        acc = tl.dot_scaled(a, a_scale, A_FORMAT, b, b_scale, "e2m1", acc)
    tl.store(c_ptr + m[:, None] * BN + n[None, :], acc)


def e2m1(packed):
    """The numbers of bytes that hold two each, along the last dimension."""
    values = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6], dtype=torch.float64, device=packed.device)
    numbers = torch.stack([packed & 15, packed >> 4], -1).flatten(-2).long()
    return torch.where(numbers > 7, -1.0, 1.0) * values[numbers & 7]


def run_scaled(tile, format, ctas, device):
    (m, n, block), k = tile, 128
    draw = lambda low, high, *shape: torch.randint(low, high, shape, device=device)  # noqa: E731
    b, scales = draw(0, 256, n, k // 2).byte(), draw(125, 130, m + n, k // 32).byte()
    if format == "e2m1":
        a = draw(0, 256, m, k // 2).byte()
        wide = e2m1(a)
    else:
        a = draw(-4, 5, m, k).float().to(torch.float8_e4m3fn)
        wide = a.double()
    c = torch.empty(m, n, device=device)
    kernel = scaled_kernel[(1,)](
        a, scales[:m], b.T.contiguous(), scales[m:], c, k, m, n, block,
        A_FORMAT=format, A_PACK=2 if format == "e2m1" else 1, num_ctas=ctas,
    )  # fmt: skip
    assert is_cluster(kernel) and "cluster_exchange" not in code(kernel)
    factors = (2.0 ** (scales.double() - 127)).repeat_interleave(32, 1)
    check(c, (wide * factors[:m]) @ (e2m1(b) * factors[m:]).T, 1e-5)
    return kernel


@CTAS
@pytest.mark.parametrize("format", ["e2m1", "e4m3"])
@pytest.mark.parametrize("tile", [(64, 64, 64), (128, 32, 64)])
def test_scaled_product(tile, format, ctas, device):
    """Scales go with the rows of their operand."""
    run_scaled(tile, format, ctas, device)


# -- atomics ---------------------------------------------------------------------------------------


@triton.jit
def atomics_kernel(ticket_ptr, counts_ptr, sum_ptr, seen_ptr, data_ptr, BLOCK: tl.constexpr):
    """A ticket for each program, counts of elements, a sum; the last program reads all of it."""
    index = tl.arange(0, BLOCK)
    ticket = tl.atomic_add(ticket_ptr, 1)
    tl.store(seen_ptr + ticket, tl.program_id(0))
    data = tl.load(data_ptr + tl.program_id(0) * BLOCK + index)
    tl.atomic_add(counts_ptr + data, 1)
    tl.atomic_max(sum_ptr, tl.max(data, 0))


@CTAS
def test_atomics(ctas, device):
    programs, block = 9, 256
    data = torch.randint(0, 50, (programs, block), dtype=torch.int32, device=device)
    zeros = torch.zeros(64, dtype=torch.int32, device=device)
    ticket, counts, most = zeros.clone(), zeros.clone(), zeros.clone()
    seen = torch.full((programs,), -1, dtype=torch.int32, device=device)
    kernel = atomics_kernel[(programs,)](
        ticket, counts, most, seen, data, BLOCK=block, num_ctas=ctas
    )
    assert is_cluster(kernel)
    assert ticket[0].item() == programs
    assert torch.equal(seen.sort().values, torch.arange(programs, device=device).int())
    assert torch.equal(counts, torch.bincount(data.flatten(), minlength=64).int())
    assert most[0].item() == data.max().item()


@triton.jit
def lock_kernel(lock_ptr, sum_ptr, x_ptr, BLOCK: tl.constexpr):
    index = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + index)
    sums = sum_ptr + index
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(sums, tl.load(sums) + x)
    tl.atomic_xchg(lock_ptr, 0)


@CTAS
def test_lock(ctas, device):
    programs, block = 30, 512
    x = torch.randint(-9, 9, (programs, block), device=device).float()
    lock = torch.zeros(1, dtype=torch.int32, device=device)
    sums = torch.zeros(block, device=device)
    kernel = lock_kernel[(programs,)](lock, sums, x, BLOCK=block, num_ctas=ctas)
    assert is_cluster(kernel)
    assert torch.equal(sums, x.sum(0)) and lock.item() == 0


# -- one CTA ---------------------------------------------------------------------------------------


@triton.jit
def turned_kernel(x_ptr, BLOCK: tl.constexpr):
    index = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + BLOCK - 1 - index)
    tl.debug_barrier()
    tl.store(x_ptr + index, x)


@triton.jit
def windows_kernel(x_ptr, count, BLOCK: tl.constexpr):
    """A window that the outer loop moves by half of itself, and the inner one changes in place."""
    for step in range(count):
        window = x_ptr + step * (BLOCK // 2) + tl.arange(0, BLOCK)
        for _ in range(2):
            x = tl.load(window)
            tl.debug_barrier()
            tl.store(window, x + 1)
            tl.debug_barrier()


@triton.jit
def numbered_kernel(out_ptr, BLOCK: tl.constexpr):
    number = tl.inline_asm_elementwise(
        "mov.u32 $0, %ctaid.x;", "=r", [], dtype=tl.int32, is_pure=True, pack=1
    )
    index = tl.arange(0, BLOCK)
    tl.store(out_ptr + number * BLOCK + index, number + index)


@triton.jit
def scalar_kernel(x_ptr, out_ptr):
    tl.store(out_ptr + tl.program_id(0), tl.load(x_ptr + tl.program_id(0)) + 1)


def note_of(kernel) -> str:
    (note,) = [note for note in kernel.notes if note["code"] == "no-cluster"]
    return note["message"]


def test_kernels_of_one_cta(device):
    """What several CTAs cannot run together runs as one, and the note says why."""
    x = torch.arange(256, device=device).float()
    want = x.flip(0)
    kernel = turned_kernel[(1,)](x, BLOCK=256, num_ctas=2)
    assert not is_cluster(kernel) and torch.equal(x, want)
    assert note_of(kernel).endswith("it may load what another CTA of its program stores")
    out = torch.empty(8, device=device)
    kernel = scalar_kernel[(8,)](x, out, num_ctas=2)
    assert not is_cluster(kernel) and torch.equal(out, x[:8] + 1)
    assert note_of(kernel).endswith("no block has a dimension that the CTAs could share")
    kernel = windows_kernel[(1,)](x, 3, BLOCK=64, num_ctas=2)
    assert not is_cluster(kernel)
    assert note_of(kernel).endswith("it may load what another CTA of its program stores")
    added = torch.tensor([2.0, 4, 4, 2], device=device).repeat_interleave(32)
    want[:128] += added
    assert torch.equal(x, want)
    out = torch.empty(3, 64, dtype=torch.int32, device=device)
    kernel = numbered_kernel[(3,)](out, BLOCK=64, num_ctas=2)
    assert not is_cluster(kernel)
    assert "assembly that asks for its CTA" in note_of(kernel)
    numbers = torch.arange(64, device=device).int()
    assert torch.equal(out, torch.stack([numbers, numbers + 1, numbers + 2]))
    kernel = run_product((16, 16, 32), False, HALF, 2, device)
    assert not is_cluster(kernel) and "dots are too small" in note_of(kernel)
