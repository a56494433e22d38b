"""Loops with masks by sizes that the kernel loads: whole tiles run without masks, edges with."""

import blockscope as triton
import blockscope.language as tl
import pytest

torch = pytest.importorskip("torch")


@triton.jit
def product_kernel(
    a_ptr, b_ptr, c_ptr, sizes_ptr, stride, FORM: tl.constexpr,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """c = a @ b; the rows of a, b and c are `stride` elements apart, a multiple of 16."""
    m = tl.load(sizes_ptr)
    n = tl.load(sizes_ptr + 1)
    k = tl.load(sizes_ptr + 2)
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    depth = tl.arange(0, K)
    a = a_ptr + rows[:, None] * stride + depth[None, :]
    b = b_ptr + depth[:, None] * stride + columns[None, :]
    total = tl.zeros((M, N), tl.float32)
    if FORM == "steps":
        for i in range(0, k, K):
            here = i + depth < k
            left = tl.load(a, mask=(rows < m)[:, None] & here[None, :], other=0.0)
            right = tl.load(b, mask=here[:, None] & (columns < n)[None, :], other=0.0)
            total = tl.dot(left, right, total)
            a += K
            b += K * stride
    elif FORM == "left over":
        for i in range(tl.cdiv(k, K)):
            left_over = k - i * K
            here = left_over > depth
            left = tl.load(a, mask=(rows <= m - 1)[:, None] & here[None, :], other=0.0)
            right = tl.load(b, mask=here[:, None] & (columns < n)[None, :], other=0.0)
            total = tl.dot(left, right, total)
            a += K
            b += K * stride
    else:  # each third tile, from the second on, by indices
        for i in range(K, k, 3 * K):
            here = (i + depth).to(tl.int64) < k
            a = a_ptr + rows[:, None] * stride + (i + depth)[None, :]
            b = b_ptr + (i + depth)[:, None] * stride + columns[None, :]
            left = tl.load(a, mask=(rows < m)[:, None] & here[None, :], other=0.0)
            right = tl.load(b, mask=here[:, None] & (columns < n)[None, :], other=0.0)
            total = tl.dot(left, right, total)
    c = c_ptr + rows[:, None] * stride + columns[None, :]
    tl.store(c, total.to(tl.float16), mask=(rows < m)[:, None] & (columns < n)[None, :])


SIZES = [
    (64, 64, 32), (64, 64, 0), (1, 1, 1), (64, 64, 31), (70, 65, 33), (64, 128, 96), (129, 64, 200),
]  # fmt: skip


def run_product(form, m, n, k, device, tile=(64, 64, 32), stages=3):
    """What lies behind the tensors' rows and columns must not count."""
    stride = -(-max(n, k, 1) // 16) * 16
    a = torch.full((max(m, 1), stride), 99.0).half()
    b = torch.full((max(k, 1), stride), 99.0).half()
    a[:m, :k], b[:k, :n] = (torch.randint(-2, 3, s).half() for s in ((m, k), (k, n)))
    c = torch.full((m, stride), 77.0).half()
    used = torch.ones(k, dtype=torch.bool)
    if form == "each third":
        used = torch.tensor([i // tile[2] % 3 == 1 for i in range(k)], dtype=torch.bool)
    want = c.clone()
    want[:, :n] = (a[:m, :k][:, used].float() @ b[:k, :n][used].float()).half()
    a, b, c = (x.to(device) for x in (a, b, c))
    sizes = torch.tensor([m, n, k], dtype=torch.int32, device=device)
    grid = (triton.cdiv(m, tile[0]), triton.cdiv(n, tile[1]))
    kernel = product_kernel[grid](a, b, c, sizes, stride, form, *tile, num_stages=stages)
    assert torch.equal(c.cpu(), want)
    return kernel


@pytest.mark.parametrize("form", ["steps", "left over", "each third"])
@pytest.mark.parametrize(("m", "n", "k"), SIZES)
def test_product(m, n, k, form, device):
    run_product(form, m, n, k, device)


@triton.jit
def rows_kernel(x_ptr, y_ptr, sizes_ptr, stride, UP: tl.constexpr, B: tl.constexpr):
    """y = 2 x + sum of x, for as many columns as each row has."""
    row = tl.program_id(0)
    size = tl.load(sizes_ptr + row)
    x = x_ptr + row * stride
    y = y_ptr + row * stride
    at = tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    for i in range(0, size, B):
        total += tl.load(x + i + at, mask=i + at < size, other=0.0).to(tl.float32)
    whole = tl.sum(total)
    for i in range(0, size, B):
        # Where `UP` does not hold, what is masked falls: the first tiles are those at an edge.
        place = i + at if UP else size - 1 - i - at
        mask = place < size if UP else place >= 0
        twice = tl.load(x + place, mask=mask).to(tl.float32) * 2
        tl.store(y + place, (twice + whole).to(tl.float16), mask=mask)


def run_rows(sizes, up, device, block=128):
    stride = -(-max([*sizes, 1]) // 16) * 16
    x = torch.randint(-2, 3, (len(sizes), stride)).half()
    y = torch.full_like(x, 77.0)
    want = y.clone()
    for i, size in enumerate(sizes):
        want[i, :size] = x[i, :size] * 2 + x[i, :size].sum()
    x, y = x.to(device), y.to(device)
    counts = torch.tensor(sizes, dtype=torch.int32, device=device)
    kernel = rows_kernel[(len(sizes),)](x, y, counts, stride, up, block, num_warps=1)
    assert torch.equal(y.cpu(), want)
    return kernel


ROWS = [0, 1, 127, 128, 129, 255, 256, 300, 385]


@pytest.mark.parametrize("up", [True, False])
def test_rows(up, device):
    run_rows(ROWS, up, device)


@triton.jit
def carried_kernel(
    x_ptr, y_ptr, numbers_ptr, FORM: tl.constexpr, STEP: tl.constexpr, B: tl.constexpr
):
    """Sums tiles of a loop whose bounds, size and place are loaded, and the tile behind it."""
    begin = tl.load(numbers_ptr)
    end = tl.load(numbers_ptr + 1)
    size = tl.load(numbers_ptr + 2)
    at = tl.arange(0, B)
    x = x_ptr + at
    total = tl.zeros((B,), tl.float32)
    for i in range(begin, end, STEP):
        if FORM == "index":
            low, high = i + at, size
        elif FORM == "sum":  # the size's may wrap
            low, high = i + at, size + at
        elif FORM == "product":  # wraps for some i
            low, high = i * 65536 + at, size
        elif FORM == "cast":  # a product, cast behind it
            low, high = (i * 65536).to(tl.int64) + at, size.to(tl.int64)
        else:  # of 64 bits, which wraps for some elements
            low, high = (i + at).to(tl.int64) + (2**63 - 30), size.to(tl.int64)
        total += tl.load(x, mask=low < high, other=3.0).to(tl.float32)
        x += B
    tl.store(y_ptr + at, total + tl.load(x).to(tl.float32))


def run_carried(form, begin, end, step, size, device, block=64):
    x = torch.randint(-2, 3, (16 * block,)).half()
    at = torch.arange(block, dtype=torch.int64)
    want, tile = torch.zeros(block), 0

    def wrapped(value):
        return (value + 2**31) % 2**32 - 2**31

    for i in range(begin, end, step):
        low, high = wrapped(i + at), torch.tensor(size)
        if form == "sum":
            high = wrapped(size + at)
        elif form == "product":
            low = wrapped(i * 65536 + at)
        elif form == "cast":
            low = wrapped(torch.tensor(i * 65536)) + at
        elif form == "constant":
            low = i + at + torch.tensor(2**63 - 30)
        loaded = x[tile * block : (tile + 1) * block].float()
        want += torch.where(low < high, loaded, 3.0)
        tile += 1
    want += x[tile * block : (tile + 1) * block].float()
    y = torch.zeros(block, device=device)
    numbers = torch.tensor([begin, end, size], dtype=torch.int32, device=device)
    carried_kernel[(1,)](x.to(device), y, numbers, form, step, block, num_warps=1)
    assert torch.equal(y.cpu(), want)


LEAST, MOST = -(2**31), 2**31 - 1
CARRIED = [
    ("index", 0, 100, 64, 1000),  # the loop ends within its last step, all tiles whole
    ("index", 0, 100, 64, 100),
    ("index", 0, 640, 64, 640),
    ("index", 3, 300, 7 * 16, 250),
    ("index", 5, 3, 64, 1000),
    ("index", 5, LEAST + 3, 64, MOST),
    ("sum", 0, 128, 64, MOST - 2),
    ("sum", 0, 128, 64, 40),
    ("product", -40000, -39996, 1, 1000),
    ("product", 0, 3, 1, 1000),
    ("cast", -40000, -39996, 1, 1000),
    ("constant", 0, 128, 64, 1000),
]
# Bounds more than 2^31 apart, for the machine for PTX alone: an H200 runs other iterations than the
# PTX says, as ptxas unrolls loops by the signed difference of their bounds.
FAR_APART = [
    ("index", LEAST, 2**29, 805306368, 5),
    ("index", LEAST, 1, 805306368, 64),
]


@pytest.mark.parametrize(("form", "begin", "end", "step", "size"), CARRIED)
def test_carried(form, begin, end, step, size, device):
    run_carried(form, begin, end, step, size, device)


@triton.jit
def twice_kernel(x_ptr, y_ptr, z_ptr, out_ptr, n, R: tl.constexpr):
    """Through the same pointers: stores a turned tile, then another, and loads what is there."""
    rows, columns = tl.arange(0, R)[:, None], tl.arange(0, R)[None, :]
    x = tl.load(x_ptr + rows * R + columns)
    turned = tl.load(y_ptr + columns * R + rows)
    place = z_ptr + rows * R + columns
    tl.store(place, turned, mask=columns < n)
    tl.store(place, x, mask=columns < n)
    again = tl.load(place, mask=columns < n, other=0.0)
    tl.store(out_ptr + rows * R + columns, tl.cumsum(again, axis=1))


def run_twice(n, warps, device, size=32):
    x, y = (torch.randint(-4, 5, (size, size)).half().to(device) for _ in range(2))
    z, out = (torch.zeros(size, size, dtype=torch.float16, device=device) for _ in range(2))
    twice_kernel[(1,)](x, y, z, out, n, size, num_warps=warps)
    kept = torch.where(torch.arange(size, device=device) < n, x, 0)
    assert torch.equal(z, kept)
    assert torch.equal(out, kept.float().cumsum(1).half())


@pytest.mark.parametrize("n", [31, 32])
@pytest.mark.parametrize("warps", [2, 4, 8])
def test_stored_twice(n, warps, device):
    run_twice(n, warps, device)


@triton.jit
def added_kernel(
    x_ptr, y_ptr, o_ptr, n, steps, FORM: tl.constexpr, R: tl.constexpr, C: tl.constexpr
):
    """Stores tiles whose values are turned, and loads them again in another layout."""
    rows, columns = tl.arange(0, R)[:, None], tl.arange(0, C)[None, :]
    turned = tl.trans(tl.load(y_ptr + tl.arange(0, C)[:, None] * R + tl.arange(0, R)[None, :]))
    place = o_ptr + rows * C + columns
    mask = columns < n
    total = tl.zeros((R, C), tl.float32)
    if FORM == "carried":  # stored in an iteration, loaded in the next
        for _ in range(steps):
            total += tl.load(place, mask=mask, other=0.0).to(tl.float32)
            place += R * C
            tl.store(place, turned, mask=mask)
        total += tl.load(place, mask=mask, other=0.0).to(tl.float32)
    elif FORM == "chosen":
        if steps > 2:
            place += R * C
        tl.store(place, turned, mask=mask)
        total += tl.load(place, mask=mask, other=0.0).to(tl.float32)
    else:
        tl.atomic_add(place, turned, mask=mask, sem="relaxed")
        total += tl.load(place, mask=mask, other=0.0).to(tl.float32)
    tl.store(x_ptr + rows * C + columns, total)


def run_added(form, n, steps, warps, device, size=32):
    y = torch.randint(1, 5, (size, size)).half()
    o = torch.randint(1, 5, (5, size, size)).half()
    x = torch.zeros(size, size)
    inside = (torch.arange(size) < n).float()
    tiles = [tile.float() * inside for tile in o]
    turned = y.T.float() * inside
    if form == "carried":
        want = tiles[0] + steps * turned
    else:
        want = turned + (tiles[0] if form == "atomic" else 0)
    x, y, o = x.to(device), y.to(device), o.to(device)
    added_kernel[(1,)](x, y, o, n, steps, form, size, size, num_warps=warps)
    assert torch.equal(x.cpu(), want)


@pytest.mark.parametrize("form", ["carried", "chosen", "atomic"])
@pytest.mark.parametrize("n", [31, 32])
@pytest.mark.parametrize("warps", [4, 8])
def test_stored_and_loaded(form, n, warps, device):
    run_added(form, n, 3, warps, device)
