"""Pipelined loops in loops, whose first copies begin in the round before: tiles with any number of
iterations, none of them too, more programs than tiles, several rings, addresses from memory.
"""

import blockscope as triton
import blockscope.language as tl
import pytest
from test_dot import check, rand

torch = pytest.importorskip("torch")

HALF = torch.float16
AHEAD = "begin behind the iterations of the one before"


# -- tiles of a product ----------------------------------------------------------------------------


@triton.jit
def tiles_kernel(
    a_ptr, b_ptr, c_ptr, order_ptr, steps_ptr, M, N, K, tiles,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, A_TMA: tl.constexpr, B_TMA: tl.constexpr,
):  # fmt: skip
    """The order of the tiles, and how many iterations each has, come from memory."""
    a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    b_desc = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [BK, BN])
    across = tl.cdiv(N, BN)
    for i in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=True):
        tile = tl.load(order_ptr + i)
        m, n = tile // across * BM, tile % across * BN
        rows, columns = m + tl.arange(0, BM), n + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), tl.float32)
        for step in range(tl.load(steps_ptr + tile)):
            k = step * BK
            along = k + tl.arange(0, BK)
            if A_TMA:
                a = a_desc.load([m, k])
            else:
                a = tl.load(a_ptr + rows[:, None] * K + along[None, :],
                            (rows < M)[:, None] & (along < K)[None, :], 0.0)  # fmt: skip
            if B_TMA:
                b = b_desc.load([k, n])
            else:
                b = tl.load(b_ptr + along[:, None] * N + columns[None, :],
                            (along < K)[:, None] & (columns < N)[None, :], 0.0)  # fmt: skip
            acc = tl.dot(a, b, acc)
        inside = (rows < M)[:, None] & (columns < N)[None, :]
        tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, inside)


def products(a, b, shape, steps, tile):
    """Each tile of the product of so many steps of the first columns and rows."""
    (m, n), (bm, bn, bk) = shape, tile
    want = torch.zeros(m, n, dtype=torch.float64, device=a.device)
    across = triton.cdiv(n, bn)
    for number, count in enumerate(steps):
        row, column = number // across * bm, number % across * bn
        left, right = a[row : row + bm, : count * bk], b[: count * bk, column : column + bn]
        want[row : row + bm, column : column + bn] = left.double() @ right.double()
    return want


def run_tiles(
    steps, programs, device, by_tma=(True, True), shape=(120, 144, 168), warps=4, stages=3
):
    """`steps` of some tiles, the others have none."""
    (m, n, k), tile = shape, (64, 64, 32)
    count = triton.cdiv(m, tile[0]) * triton.cdiv(n, tile[1])
    steps = [*steps, *[0] * count][:count]
    a, b = rand((m, k), HALF, device), rand((k, n), HALF, device)
    c = torch.full((m, n), 7.0, device=device)
    order = torch.randperm(count).to(device=device, dtype=torch.int32)
    counts = torch.tensor(steps, dtype=torch.int32, device=device)
    kernel = tiles_kernel[(programs,)](
        a, b, c, order, counts, m, n, k, count, *tile, *by_tma, num_warps=warps, num_stages=stages
    )
    check(c, products(a, b, (m, n), steps, tile), 1e-3)
    return kernel


COUNTS = [[], [1] * 6, [0, 3, 0, 1, 6, 0], [5, 0, 0, 2, 1, 3], [6] * 6]


@pytest.mark.parametrize("by_tma", [(True, True), (False, False), (True, False)])
@pytest.mark.parametrize("stages", [2, 3, 4])
@pytest.mark.parametrize("programs", [1, 4, 9])
@pytest.mark.parametrize("steps", COUNTS)
def test_tiles(steps, programs, stages, by_tma, device):
    kernel = run_tiles(steps, programs, device, by_tma, stages=stages)
    assert AHEAD in kernel.asm["plan"]
    assert "not-pipelined" not in {note["code"] for note in kernel.notes}


@pytest.mark.parametrize("by_tma", [(True, True), (False, False)])
def test_many_tiles(by_tma, device):
    steps = torch.randint(0, 9, (256,)).tolist()
    run_tiles(steps, 7, device, by_tma, (1000, 1000, 256), warps=8)


# -- several loops in a round, and loops around ----------------------------------------------------


@triton.jit
def two_rings_kernel(
    a_ptr, b_ptr, c_ptr, rounds, first, second, S: tl.constexpr, MOVED: tl.constexpr
):
    """In each round two loops, with an epilogue behind each; rounds have one step less each."""
    offsets = tl.arange(0, S)[:, None] * S + tl.arange(0, S)[None, :]
    for outer in range(2):
        a_ptrs = a_ptr + offsets
        for i in range(rounds):
            acc = tl.zeros((S, S), tl.float32)
            for step in range(first - i):
                at = step * S * S + offsets
                acc = tl.dot(tl.load(b_ptr + at), tl.load(a_ptrs), acc)
            c_ptrs = c_ptr + (outer * rounds + i) * 2 * S * S + offsets
            tl.store(c_ptrs, acc)
            for step in range(i, second):
                at = step * S * S + offsets
                acc = tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at), acc)
            tl.store(c_ptrs + S * S, acc)
            if MOVED:
                a_ptrs += S * S


def run_two_rings(rounds, first, second, moved, device, warps=4):
    size, most = 32, max(rounds, first, second, 1)
    a, b = rand((most, size, size), HALF, device), rand((most, size, size), HALF, device)
    c = torch.full((2 * rounds + 1, 2, size, size), 7.0, device=device)
    kernel = two_rings_kernel[(1,)](
        a, b, c, rounds, first, second, size, moved, num_warps=warps, num_stages=3
    )
    want = torch.full_like(c, 7, dtype=torch.float64)
    a, b = a.double(), b.double()
    for i in range(rounds):
        acc = torch.zeros(size, size, dtype=torch.float64, device=device)
        for step in range(first - i):
            acc += b[step] @ a[i if moved else 0]
        want[i : 2 * rounds : rounds, 0] = acc
        for step in range(i, second):
            acc += a[step] @ b[step]
        want[i : 2 * rounds : rounds, 1] = acc
    check(c, want, 1e-3)
    return kernel


@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("rounds,first,second", [(0, 3, 3), (1, 1, 2), (3, 2, 4), (5, 4, 3)])
def test_two_rings(rounds, first, second, moved, device):
    kernel = run_two_rings(rounds, first, second, moved, device)
    if rounds != 1:  # a 1 is compiled in, and its round is no loop
        assert kernel.asm["plan"].count(AHEAD) == 2


@triton.jit
def continued_kernel(a_ptr, b_ptr, c_ptr, steps_ptr, rounds, S: tl.constexpr):
    """Each round goes on where the one before ended."""
    offsets = tl.arange(0, S)[:, None] * S + tl.arange(0, S)[None, :]
    a_ptrs, first = a_ptr + offsets, 0
    for i in range(rounds):
        acc = tl.zeros((S, S), tl.float32)
        steps = tl.load(steps_ptr + i)
        for step in range(steps):
            b = tl.load(b_ptr + (first + step) * S * S + offsets)
            acc = tl.dot(tl.load(a_ptrs), b, acc)
            a_ptrs += S * S
        tl.store(c_ptr + i * S * S + offsets, acc)
        first += steps


def run_continued(steps, device, warps=4, stages=3):
    size, most = 32, sum(steps) + 1
    a, b = rand((most, size, size), HALF, device), rand((most, size, size), HALF, device)
    c = torch.full((len(steps) + 1, size, size), 7.0, device=device)
    numbers = torch.tensor([*steps, 9], dtype=torch.int32, device=device)
    kernel = continued_kernel[(1,)](
        a, b, c, numbers, len(steps), size, num_warps=warps, num_stages=stages
    )
    want, first = torch.full_like(c, 7, dtype=torch.float64), 0
    for i, count in enumerate(steps):
        pages = slice(first, first + count)
        want[i] = (a[pages].double() @ b[pages].double()).sum(0)
        first += count
    check(c, want, 1e-3)
    return kernel


@pytest.mark.parametrize("stages", [2, 3, 4])
@pytest.mark.parametrize("steps", [[], [0], [3], [1, 0, 2], [0, 5, 1, 0, 4]])
def test_continued(steps, stages, device):
    kernel = run_continued(steps, device, stages=stages)
    assert len(steps) == 1 or AHEAD in kernel.asm["plan"]  # one round is no loop


# -- addresses from memory, and loads into registers -----------------------------------------------


@triton.jit
def pages_kernel(
    a_ptr, b_ptr, scale_ptr, page_ptr, c_ptr, steps_ptr, tiles, MOST: tl.constexpr, S: tl.constexpr
):
    """Each step multiplies two pages, whose numbers are loaded, and scales their product."""
    rows = tl.arange(0, S)
    offsets = rows[:, None] * S + rows[None, :]
    for i in range(tl.program_id(0), tiles, tl.num_programs(0)):
        acc = tl.zeros((S, S), tl.float32)
        for step in range(tl.load(steps_ptr + i)):
            page = tl.load(page_ptr + i * MOST + step)
            scale = tl.load(scale_ptr + (i * MOST + step) * S + rows)
            at = page * S * S + offsets
            acc += tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at)) * scale[:, None]
        tl.store(c_ptr + i * S * S + offsets, acc)


def run_pages(steps, programs, device, warps=4, stages=3):
    size, most, pages, tiles = 32, max([*steps, 1]), 5, len(steps)
    a, b = rand((pages, size, size), HALF, device), rand((pages, size, size), HALF, device)
    scales = rand((tiles, most, size), torch.float32, device)
    numbers = torch.randint(0, pages, (tiles, most), dtype=torch.int32).to(device)
    c = torch.full((tiles, size, size), 7.0, device=device)
    counts = torch.tensor(steps, dtype=torch.int32, device=device)
    kernel = pages_kernel[(programs,)](
        a, b, scales, numbers, c, counts, tiles, most, size, num_warps=warps, num_stages=stages
    )
    want = torch.zeros(tiles, size, size, dtype=torch.float64, device=device)
    for i, count in enumerate(steps):
        for step in range(count):
            page = numbers[i, step]
            want[i] += a[page].double() @ b[page].double() * scales[i, step].double()[:, None]
    check(c, want, 1e-3)
    return kernel


@pytest.mark.parametrize("stages", [2, 3, 4])
@pytest.mark.parametrize("programs", [1, 2, 5])
@pytest.mark.parametrize("steps", [[0], [1, 0, 2], [5, 0, 0, 3, 1]])
def test_pages(steps, programs, stages, device):
    kernel = run_pages(steps, programs, device, stages=stages)
    assert AHEAD in kernel.asm["plan"]
    assert "into registers" in kernel.asm["plan"]


# -- attention -------------------------------------------------------------------------------------


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, steps_ptr, L, tiles, scale,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, TMA: tl.constexpr,
):  # fmt: skip
    """Each tile of queries sees the first keys, so many blocks of them as memory says."""
    k_desc = tl.make_tensor_descriptor(k_ptr, [L, D], [D, 1], [BN, D])
    v_desc = tl.make_tensor_descriptor(v_ptr, [L, D], [D, 1], [BN, D])
    along = tl.arange(0, D)
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        rows = tile * BM + tl.arange(0, BM)
        q = tl.load(q_ptr + rows[:, None] * D + along[None, :])
        largest = tl.full([BM], float("-inf"), tl.float32)
        total = tl.zeros([BM], tl.float32)
        acc = tl.zeros([BM, D], tl.float32)
        for n in range(0, tl.load(steps_ptr + tile) * BN, BN):
            at = (n + tl.arange(0, BN))[:, None] * D + along[None, :]
            if TMA:
                k = k_desc.load([n, 0])
            else:
                k = tl.load(k_ptr + at)
            scores = tl.dot(q, k.T) * (scale * 1.44269504)
            new = tl.maximum(largest, tl.max(scores, 1))
            weights = tl.exp2(scores - new[:, None])
            shrink = tl.exp2(largest - new)
            total = total * shrink + tl.sum(weights, 1)
            if TMA:
                v = v_desc.load([n, 0])
            else:
                v = tl.load(v_ptr + at)
            acc = tl.dot(weights.to(tl.float16), v, acc * shrink[:, None])
            largest = new
        acc = acc / tl.where(total == 0, 1, total)[:, None]
        tl.store(out_ptr + rows[:, None] * D + along[None, :], acc.to(tl.float16))


def run_attention(steps, programs, by_tma, device, warps=4, stages=3, tile=(64, 32)):
    size, (bm, bn) = 64, tile
    length = max([*steps, 1]) * bn
    q = rand((len(steps) * bm, size), HALF, device)
    k, v = rand((length, size), HALF, device), rand((length, size), HALF, device)
    out = torch.full_like(q, 7)
    counts = torch.tensor(steps, dtype=torch.int32, device=device)
    kernel = attention_kernel[(programs,)](
        q, k, v, out, counts, length, len(steps), size**-0.5, size, bm, bn, by_tma,
        num_warps=warps, num_stages=stages,
    )  # fmt: skip
    want = torch.zeros_like(q, dtype=torch.float64)
    for i, count in enumerate(steps):
        if count:
            keys, values = k[: count * bn].double(), v[: count * bn].double()
            scores = q[i * bm : (i + 1) * bm].double() @ keys.T * size**-0.5
            want[i * bm : (i + 1) * bm] = torch.softmax(scores, 1) @ values
    check(out, want, 4e-3)
    return kernel


@pytest.mark.parametrize("by_tma", [False, True])
@pytest.mark.parametrize("stages", [2, 3])
@pytest.mark.parametrize("warps,tile", [(4, (64, 32)), (8, (128, 32))])
@pytest.mark.parametrize("programs", [1, 2, 6])
@pytest.mark.parametrize("steps", [[0], [1, 0, 2], [5, 0, 0, 3, 1]])
def test_attention(steps, programs, warps, tile, stages, by_tma, device):
    kernel = run_attention(steps, programs, by_tma, device, warps, stages, tile)
    assert AHEAD in kernel.asm["plan"]


# -- while loops that count ------------------------------------------------------------------------


@triton.jit
def while_kernel(a_ptr, b_ptr, c_ptr, last_ptr, tiles, steps, S: tl.constexpr):
    """A `while` in a `while`, and what their counts are behind them."""
    offsets = tl.arange(0, S)[:, None] * S + tl.arange(0, S)[None, :]
    tile = tl.program_id(0)
    while tile < tiles:
        acc = tl.zeros((S, S), tl.float32)
        step = tile
        while steps > step:
            at = step * S * S + offsets
            acc = tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at), acc)
            step += 2
        tl.store(c_ptr + tile * S * S + offsets, acc + step)
        tile += tl.num_programs(0)
    tl.store(last_ptr + tl.program_id(0), tile)


def run_while(tiles, steps, programs, device, stages=3):
    size = 32
    a, b = rand((steps + 1, size, size), HALF, device), rand((steps + 1, size, size), HALF, device)
    c = torch.full((tiles + 1, size, size), 7.0, device=device)
    last = torch.zeros(programs, dtype=torch.int32, device=device)
    kernel = while_kernel[(programs,)](
        a, b, c, last, tiles, steps, size, num_warps=4, num_stages=stages
    )
    want = torch.full_like(c, 7, dtype=torch.float64)
    for tile in range(tiles):
        want[tile] = max(tile, steps + (steps - tile) % 2)
        for step in range(tile, steps, 2):
            want[tile] += a[step].double() @ b[step].double()
    check(c, want, 1e-3)
    firsts = range(programs)
    assert last.tolist() == [
        max(i, i + triton.cdiv(tiles - i, programs) * programs) for i in firsts
    ]
    return kernel


@pytest.mark.parametrize("stages", [2, 3, 4])
@pytest.mark.parametrize("programs", [1, 2, 6])
@pytest.mark.parametrize("tiles,steps", [(0, 2), (1, 0), (1, 1), (5, 4)])
def test_while(tiles, steps, programs, stages, device):
    kernel = run_while(tiles, steps, programs, device, stages)
    assert AHEAD in kernel.asm["plan"]


# -- what has to stay in its round -----------------------------------------------------------------


@triton.jit
def chain_kernel(x_ptr, w_ptr, rounds, S: tl.constexpr, BK: tl.constexpr):
    """Each round multiplies what the one before has stored."""
    rows, along = tl.arange(0, S), tl.arange(0, BK)
    for i in range(rounds):
        acc = tl.zeros((S, S), tl.float32)
        for k in range(0, S, BK):
            x = tl.load(x_ptr + i * S * S + rows[:, None] * S + k + along[None, :])
            w = tl.load(w_ptr + (k + along)[:, None] * S + rows[None, :])
            acc = tl.dot(x, w, acc)
        there = (i + 1) * S * S + rows[:, None] * S + rows[None, :]
        tl.store(x_ptr + there, acc.to(tl.float16))
        tl.debug_barrier()


def run_chain(rounds, device):
    size = 64
    x = torch.full((rounds + 1, size, size), 7.0, device=device, dtype=HALF)
    x[0] = rand((size, size), HALF, device)
    w = torch.roll(torch.eye(size, device=device, dtype=HALF), 1, 1).contiguous()
    kernel = chain_kernel[(1,)](x, w, rounds, size, 32, num_warps=4, num_stages=3)
    for i in range(1, rounds + 1):
        assert torch.equal(x[i], torch.roll(x[0], i, 1))
    return kernel


@pytest.mark.parametrize("rounds", [0, 1, 4])
def test_chain(rounds, device):
    kernel = run_chain(rounds, device)
    assert AHEAD not in kernel.asm["plan"]
    found = [note for note in kernel.notes if note["code"] == "not-pipelined"]
    assert len(found) == (rounds != 1)
    for note in found:
        assert note["severity"] == "note"
        assert "of the loop around it writes to global memory" in note["message"]
