"""Loops whose addresses are loaded in the loop: page tables, indices of rows, pointers."""

import blockscope as triton
import blockscope.language as tl
import pytest

torch = pytest.importorskip("torch")


@triton.jit
def paged_sum_kernel(
    q_ptr, pages_ptr, values_ptr, table_ptr, out_ptr, keys, page_stride, group,
    M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, FORM: tl.constexpr,
):  # fmt: skip
    """The sum over all pages of (q @ page^T) @ page, whose values are in memory twice."""
    m, n, d = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    q = tl.load(q_ptr + m[:, None] * D + d[None, :])
    total = tl.zeros((M, D), tl.float32)
    for start in range(0, keys, N):
        if FORM == "page":  # one page for each iteration
            page = tl.load(table_ptr + start // N)
            rows = page * page_stride + n * D
        elif FORM == "rows":  # each key has an entry of its own
            row = tl.load(table_ptr + start + n, mask=start + n < keys, other=0)
            rows = row * page_stride
        elif FORM == "used":  # the entries also say which keys count
            row = tl.load(table_ptr + start + n, mask=start + n < keys, other=0)
            rows = row * page_stride
        elif FORM == "two":  # the table's entry is loaded from another table
            at = tl.load(table_ptr + keys + start // N)
            page = tl.load(table_ptr + at)
            rows = page * page_stride + n * D
        else:  # the table is divided by a number that is known when the kernel is launched
            page = tl.load(table_ptr + start // group)
            rows = page * page_stride + n * D
        mask = start + n < keys
        key = tl.load(pages_ptr + rows[:, None] + d[None, :], mask=mask[:, None], other=0.0)
        scores = tl.dot(q, key.trans())
        if FORM == "used":
            scores = tl.where((row % 3 == 0)[None, :], 0.0, scores)
        value = tl.load(values_ptr + rows[:, None] + d[None, :], mask=mask[:, None], other=0.0)
        total += tl.dot(scores.to(q.dtype), value)
    tl.store(out_ptr + m[:, None] * D + d[None, :], total)


def run_paged_sum(form, keys, stages, device, warps=4, m=16, n=16, d=32, spread=1):
    """`spread`: how many times the size of a page lies between two."""
    blocks = -(-keys // n)
    q = torch.randint(-1, 2, (m, d), device=device).half()
    by_key = form in ("rows", "used")
    width = d if by_key else n * d
    count = (keys if by_key else blocks) + 3
    pages = torch.randint(-1, 2, (count, spread * width), device=device).half()
    order = torch.randperm(count, device=device)[: keys if by_key else blocks]
    table = order.int()
    if form == "two":
        ways = torch.randperm(max(1, blocks), device=device)[:blocks]
        entries = torch.zeros(keys + blocks, dtype=torch.int32, device=device)
        entries[keys:] = ways.int()
        entries[ways] = order.int()
        table = entries
    if table.numel() == 0:
        table = torch.zeros(1, dtype=torch.int32, device=device)
    out = torch.full((m, d), 77.0, device=device)
    kernel = paged_sum_kernel[(1,)](
        q, pages, pages.clone(), table, out, keys, spread * width, n, m, n, d, form,
        num_stages=stages, num_warps=warps,
    )  # fmt: skip
    rows = pages[order.long()][:, :width].reshape(-1, d)[:keys].float()
    scores = q.float() @ rows.T
    if form == "used":
        scores[:, order % 3 == 0] = 0
    want = scores @ rows
    assert torch.equal(out, want)
    return kernel


@pytest.mark.parametrize("form", ["page", "rows", "used", "two", "divided"])
@pytest.mark.parametrize("stages", [1, 2, 4])
@pytest.mark.parametrize("keys", [0, 1, 16, 39, 112])
def test_paged_sum(keys, stages, form, device):
    run_paged_sum(form, keys, stages, device)


@pytest.mark.parametrize("form", ["page", "rows", "used"])
@pytest.mark.parametrize("warps", [4, 8])
def test_paged_sum_of_warpgroups(warps, form, device):
    run_paged_sum(form, 200, 3, device, warps, m=16 * warps, n=64, d=64)


@triton.jit
def described_kernel(
    q_ptr, pages_ptr, table_ptr, out_ptr, count, rows,
    M: tl.constexpr, N: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """Pages of a tensor with a descriptor, which TMA copies."""
    m, n, d = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    tl.multiple_of(rows, 16)
    pages = tl.make_tensor_descriptor(pages_ptr, [rows, D], [D, 1], [N, D])
    q = tl.load(q_ptr + m[:, None] * N + n[None, :])
    total = tl.zeros((M, D), tl.float32)
    for i in range(count):
        page = tl.load(table_ptr + i)
        total = tl.dot(q, pages.load([page * N, 0]), total)
    tl.store(out_ptr + m[:, None] * D + d[None, :], total)


def run_described(count, stages, device, m=64, n=64, d=64):
    q = torch.randint(-1, 2, (m, n), device=device).half()
    pages = torch.randint(-1, 2, (count + 3, n, d), device=device).half()
    order = torch.randperm(count + 3)[: max(1, count)]
    out = torch.full((m, d), 77.0, device=device)
    kernel = described_kernel[(1,)](
        q, pages, order.int().to(device), out, count, (count + 3) * n, m, n, d, num_stages=stages
    )
    want = sum((q.float() @ pages[i].float() for i in order[:count]), torch.zeros_like(out))
    assert torch.equal(out, want)
    return kernel


@pytest.mark.parametrize("stages", [1, 2, 4])
@pytest.mark.parametrize("count", [0, 2, 5])
def test_described(count, stages, device):
    run_described(count, stages, device)


@triton.jit
def list_kernel(
    q_ptr, pages_ptr, next_ptr, out_ptr, count, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr
):
    """A list that is walked: each page says which one comes next."""
    m, n, d = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    q = tl.load(q_ptr + m[:, None] * N + n[None, :])
    total = tl.zeros((M, D), tl.float32)
    page = tl.load(next_ptr)
    for _ in range(count):
        value = tl.load(pages_ptr + page * N * D + n[:, None] * D + d[None, :])
        page = tl.load(next_ptr + page)
        total = tl.dot(q, value, total)
    tl.store(out_ptr + m[:, None] * D + d[None, :], total)


def run_list(count, stages, device, m=16, n=16, d=32):
    q = torch.randint(-1, 2, (m, n), device=device).half()
    pages = torch.randint(-1, 2, (count + 1, n, d), device=device).half()
    order = torch.cat([torch.zeros(1, dtype=torch.long), 1 + torch.randperm(count)])
    after = torch.zeros(count + 1, dtype=torch.int32)
    after[order] = torch.roll(order, -1).int()
    out = torch.full((m, d), 77.0, device=device)
    kernel = list_kernel[(1,)](q, pages, after.to(device), out, count, m, n, d, num_stages=stages)
    want = sum((q.float() @ pages[i].float() for i in order[1:]), torch.zeros(m, d, device=device))
    assert torch.equal(out, want)
    return kernel


@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize("count", [0, 1, 5])
def test_list(count, stages, device):
    run_list(count, stages, device)


@triton.jit
def scaled_kernel(
    a_ptr, b_ptr, scale_ptr, out_ptr, k, group, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr
):
    """Operands that are made of bytes and of the scales of groups, whose pieces are too small to be
    copied."""
    m, n, step = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, k, K):
        at = start + step
        a = tl.load(a_ptr + m[:, None] * k + at[None, :], mask=(at < k)[None, :], other=0.0)
        b = tl.load(b_ptr + at[:, None] * N + n[None, :], mask=(at < k)[:, None], other=0)
        scale = tl.load(scale_ptr + (start // group) * (N + 1) + n)
        total = tl.dot(a, (b * scale[None, :]).to(a.dtype), total)
    tl.store(out_ptr + m[:, None] * N + n[None, :], total)


def run_scaled(k, stages, device, m=16, n=64, step=32, group=64):
    a = torch.randint(-1, 2, (m, k), device=device).half()
    b = torch.randint(-2, 3, (k, n), device=device).to(torch.int8)
    scale = torch.randint(1, 4, (max(1, -(-k // group)), n + 1), device=device).half()
    out = torch.full((m, n), 77.0, device=device)
    kernel = scaled_kernel[(1,)](a, b, scale, out, k, group, m, n, step, num_stages=stages)
    scales = scale[:, :n].repeat_interleave(group, 0)[:k]
    assert torch.equal(out, a.float() @ (b.half() * scales).float())
    return kernel


@pytest.mark.parametrize("stages", [1, 2, 4])
@pytest.mark.parametrize("k", [32, 96, 240])
def test_scaled(k, stages, device):
    run_scaled(k, stages, device)
