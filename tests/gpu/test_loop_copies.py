"""Operands that TMA or cp.async bring into a loop without a ring of its own: beside a loop in the
loop, where one stage is asked for, under conditions, in `while` loops; with any number of
iterations, partial tiles, rows that lie far apart, and more loads than buffers.
"""

import blockscope as triton
import blockscope.language as tl
import pytest
from test_dot import check, rand

torch = pytest.importorskip("torch")

HALF = torch.float16


@triton.jit
def wide_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, pages_ptr, count, M, N, D, v_row,
    BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr, FORM: tl.constexpr,
):  # fmt: skip
    """out = (q @ k.T) @ v over tiles of keys, v in three parts, each into sums of its own."""
    q_desc = tl.make_tensor_descriptor(q_ptr, [M, D], [D, 1], [BM, BD])
    k_desc = tl.make_tensor_descriptor(k_ptr, [N, D], [D, 1], [BN, BD])
    v_desc = tl.make_tensor_descriptor(v_ptr, [N, 3 * BD], [v_row, 1], [BN, BD])
    m = tl.program_id(0) * BM
    first = tl.zeros((BM, BD), tl.float32)
    second = tl.zeros((BM, BD), tl.float32)
    third = tl.zeros((BM, BD), tl.float32)
    i = 0
    while i < count:
        if FORM == "pages":
            n = tl.load(pages_ptr + i) * BN
        else:
            n = i * BN
        scores = tl.zeros((BM, BN), tl.float32)
        for d in range(0, D, BD):
            scores = tl.dot(q_desc.load([m, d]), k_desc.load([n, d]).T, scores)
        p = scores.to(tl.float16)
        first = tl.dot(p, v_desc.load([n, 0]), first)
        if FORM == "conditions":
            if i % 2 == 0:
                second = tl.dot(p, v_desc.load([n, BD]), second)
                third = tl.dot(p, v_desc.load([n, 2 * BD]), third)
        else:
            second = tl.dot(p, v_desc.load([n, BD]), second)
            third = tl.dot(p, v_desc.load([n, 2 * BD]), third)
        if FORM == "halting":
            i += tl.load(pages_ptr + i) // 1000 + 1
        else:
            i += 1
    rows = m + tl.arange(0, BM)
    columns = tl.arange(0, BD)
    out_ptrs = out_ptr + rows[:, None] * (3 * BD) + columns[None, :]
    inside = (rows < M)[:, None] & (columns < BD)[None, :]
    tl.store(out_ptrs, first, inside)
    tl.store(out_ptrs + BD, second, inside)
    tl.store(out_ptrs + 2 * BD, third, inside)


def run_wide(form, count, m, n, device, tile=(64, 32, 32), depth=64, spacing=0, warps=4):
    """`spacing`: elements between two rows of v. Returns the compiled kernel."""
    bm, bn, bd = tile
    programs = triton.cdiv(m, bm)
    q, k = rand((m, depth), HALF, device), rand((n, depth), HALF, device) / 8
    width = 3 * bd
    v = rand((n, width + spacing), HALF, device)[:, :width]
    out = torch.full((m, width), 7.0, device=device)
    order = torch.randperm(max(count, 1)).to(device=device, dtype=torch.int32)
    kernel = wide_kernel[(programs,)](
        q, k, v, out, order, count, m, n, depth, width + spacing, *tile, form, num_warps=warps
    )
    want = torch.zeros((m, width), dtype=torch.float64, device=device)
    for i in range(count):
        rows = slice(i * bn, min((i + 1) * bn, n))
        p = (q.double() @ k[rows].double().T).half().double()
        parts = p @ v[rows].double()
        if form == "conditions" and i % 2:
            parts[:, bd:] = 0
        want += parts
    check(out, want, 2e-3)
    return kernel


def copies_of(kernel):
    """How many copies of the kernel make their mbarrier anew."""
    return kernel.asm["ttgir"].count("{again}")


@pytest.mark.parametrize("form", ["counted", "pages", "conditions", "halting"])
@pytest.mark.parametrize("count,n", [(0, 64), (1, 32), (1, 8), (3, 96), (4, 104)])
def test_wide(form, count, n, device):
    run_wide(form, count, 72, n, device)


@pytest.mark.parametrize("tile", [(16, 32, 64), (32, 64, 32)])
@pytest.mark.parametrize("form", ["counted", "conditions"])
@pytest.mark.parametrize("count,n", [(0, 64), (1, 8), (3, 96)])
def test_few_rows(form, count, n, tile, device):
    """Dots by mma.sync."""
    run_wide(form, count, 40, n, device, tile)


@pytest.mark.parametrize("spacing", [8, 1 << 20])
def test_rows_far_apart(spacing, device):
    run_wide("counted", 2, 72, 64, device, spacing=spacing)


@pytest.mark.parametrize("tile", [(64, 128, 64), (128, 64, 64)])
@pytest.mark.parametrize("count", [1, 5])
def test_fewer_buffers_than_loads(count, tile, device):
    run_wide("counted", count, 192, count * tile[1], device, tile, depth=256)


# -- one stage -------------------------------------------------------------------------------------


@triton.jit
def one_stage_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    MOVES: tl.constexpr,
):  # fmt: skip
    """A product of which the loop also stores what it has so far."""
    a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    b_desc = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [BK, BN])
    rows, columns = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BN)
    c_ptrs = c_ptr + rows[:, None] * N + columns[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, num_stages=1):
        acc = tl.dot(a_desc.load([tl.program_id(0) * BM, k]), b_desc.load([k, 0]), acc)
        tl.store(c_ptrs, acc, (rows < M)[:, None] & (columns < N)[None, :])
        if MOVES:
            c_ptrs += M * N


def run_one_stage(shape, moves, device):
    (m, n, k), tile = shape, (64, 64, 32)
    a, b = rand((m, k), HALF, device), rand((k, n), HALF, device)
    steps = triton.cdiv(k, tile[2])
    c = torch.full((steps if moves else 1, m, n), 7.0, device=device)
    kernel = one_stage_kernel[(triton.cdiv(m, tile[0]),)](a, b, c, m, n, k, *tile, moves)
    for step in range(steps):
        done = (step + 1) * tile[2]
        want = a[:, :done].double() @ b[:done].double()
        if moves or step == steps - 1:
            check(c[step if moves else 0], want, 1e-3)
    return kernel


@pytest.mark.parametrize("moves", [False, True])
@pytest.mark.parametrize("shape", [(64, 64, 32), (80, 48, 96), (120, 64, 200)])
def test_one_stage(shape, moves, device):
    run_one_stage(shape, moves, device)


# -- by threads ------------------------------------------------------------------------------------


@triton.jit
def rows_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, rows_ptr, count, M, N,
    BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, FORM: tl.constexpr,
):  # fmt: skip
    """out = (q @ k.T) @ v over the rows of k and v that a list names."""
    m, d, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D), tl.arange(0, BN)
    q = tl.load(q_ptr + m[:, None] * D + d[None, :], (m < M)[:, None], 0.0)
    acc = tl.zeros((BM, D), tl.float32)
    for i in tl.range(0, count, num_stages=1):
        isInside = i * BN + n < N
        rows = tl.load(rows_ptr + i * BN + n, isInside, 0)
        k = tl.load(k_ptr + rows[None, :] * D + d[:, None], isInside[None, :], 0.0)
        p = tl.dot(q, k).to(tl.float16)
        if FORM == "stores":  # what is loaded later may be stored before
            tl.store(v_ptr + (i * BN + n)[:, None] * D + d[None, :],
                     tl.zeros((BN, D), tl.float16) + i, isInside[:, None])  # fmt: skip
            tl.debug_barrier()
        if FORM == "conditions":
            if i % 2 == 0:
                v = tl.load(v_ptr + rows[:, None] * D + d[None, :], isInside[:, None], 0.0)
                acc = tl.dot(p, v, acc)
        else:
            v = tl.load(v_ptr + rows[:, None] * D + d[None, :], isInside[:, None], 0.0)
            acc = tl.dot(p, v, acc)
    tl.store(out_ptr + m[:, None] * D + d[None, :], acc, (m < M)[:, None])


def run_rows(form, count, m, n, device, tile=(64, 64), depth=64, warps=4):
    (bm, bn), programs = tile, triton.cdiv(m, tile[0])
    if form == "stores":
        assert programs == 1  # other programs would store as well
    q, k = rand((m, depth), HALF, device), rand((n, depth), HALF, device) / 8
    v, out = rand((n, depth), HALF, device), torch.full((m, depth), 7.0, device=device)
    rows = torch.cat([part[torch.randperm(len(part))] for part in torch.arange(n).split(bn)])
    rows = rows.to(device=device, dtype=torch.int32)
    want = torch.zeros((m, depth), dtype=torch.float64, device=device)
    for i in range(count):
        part = rows[i * bn : (i + 1) * bn].long()
        p = (q.double() @ k[part].double().T).half().double()
        if form != "conditions" or i % 2 == 0:
            want += p @ (torch.full_like(v[part], i) if form == "stores" else v[part]).double()
    kernel = rows_kernel[(programs,)](
        q, k, v, out, rows, count, m, n, bm, bn, depth, form, num_warps=warps
    )
    check(out, want, 2e-3)
    return kernel


@pytest.mark.parametrize("tile", [(64, 64), (16, 64), (128, 64)])
@pytest.mark.parametrize("form", ["plain", "conditions", "stores"])
@pytest.mark.parametrize("count,n", [(0, 64), (1, 64), (1, 24), (5, 300)])
def test_rows(form, count, n, tile, device):
    run_rows(form, count, tile[0] - 8 if form == "stores" else 200, n, device, tile)


@triton.jit
def chain_kernel(x_ptr, w_ptr, z_ptr, count, S: tl.constexpr):
    """Each iteration loads what it has stored."""
    offsets = tl.arange(0, S)[:, None] * S + tl.arange(0, S)[None, :]
    for i in tl.range(0, count, num_stages=1):
        x = tl.load(x_ptr + i * S * S + offsets)
        tl.store(x_ptr + (i + 1) * S * S + offsets, tl.dot(x, tl.load(w_ptr + offsets)).to(x.dtype))
        tl.debug_barrier()
        again = tl.load(x_ptr + (i + 1) * S * S + offsets)
        tl.store(z_ptr + i * S * S + offsets, tl.dot(again, tl.load(w_ptr + offsets)))


@pytest.mark.parametrize("count", [0, 1, 4])
def test_chain(count, device):
    size = 64
    x, w = rand((count + 1, size, size), HALF, device), rand((size, size), HALF, device) / 8
    z = torch.full((max(count, 1), size, size), 7.0, device=device)
    first = x[0].double()
    chain_kernel[(1,)](x, w, z, count, size, num_warps=4)
    for i in range(count):
        first = x[i].double() @ w.double()
        check(x[i + 1], first, 1e-3)
        check(z[i], x[i + 1].double() @ w.double(), 1e-3)


@triton.jit
def told_kernel(flag_ptr, x_ptr, out_ptr, count, S: tl.constexpr, FORM: tl.constexpr):
    """What each iteration loads may be read only when another program has told of it."""
    offsets = tl.arange(0, S)[:, None] * S + tl.arange(0, S)[None, :]
    acc = tl.zeros((S, S), tl.float32)
    for i in tl.range(0, count, num_stages=1):
        if FORM == "volatile":
            while tl.load(flag_ptr, volatile=True) < 1:
                pass
        else:
            tl.inline_asm_elementwise(
                "ld.acquire.gpu.global.b32 $0, [$1];", "=r,l", [flag_ptr], tl.int32,
                is_pure=False, pack=1,
            )  # fmt: skip
        x = tl.load(x_ptr + i * S * S + offsets)
        acc = tl.dot(x, x, acc)
    tl.store(out_ptr + offsets, acc)


def run_told(form, count, device):
    size = 64
    x, out = rand((max(count, 1), size, size), HALF, device), torch.empty(size, size, device=device)
    flag = torch.ones(1, dtype=torch.int32, device=device)
    kernel = told_kernel[(1,)](flag, x, out, count, size, form, num_warps=4)
    check(out, (x[:count].double() @ x[:count].double()).sum(0), 1e-3)
    return kernel


@pytest.mark.parametrize("form", ["volatile", "assembly"])
@pytest.mark.parametrize("count", [0, 4])
def test_told(count, form, device):
    run_told(form, count, device)


# -- turned on the way -----------------------------------------------------------------------------


@triton.jit
def narrow_kernel(
    a_ptr, b_ptr, c_ptr, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr,
    STAGES: tl.constexpr,
):  # fmt: skip
    """A product in tf32 with few columns, which lie side by side in memory."""
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    acc = tl.zeros((M, N), tl.float32)
    for start in tl.range(0, K, BK, num_stages=STAGES):
        along = start + k
        a = tl.load(a_ptr + m[:, None] * K + along[None, :], (along < K)[None, :], 0.0)
        b = tl.load(b_ptr + along[:, None] * N + n[None, :], (along < K)[:, None], 0.0)
        acc = tl.dot(a, b, acc, input_precision="tf32")
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc)


@pytest.mark.parametrize("stages", [2, 3])
@pytest.mark.parametrize("n,step", [(16, 16), (16, 32), (64, 32)])
@pytest.mark.parametrize("k", [16, 40, 130])
def test_few_columns_in_tf32(k, n, step, stages, device):
    run_few_columns(k, n, step, stages, device)


def run_few_columns(k, n, step, stages, device):
    a, b = rand((64, k), torch.float32, device), rand((k, n), torch.float32, device)
    c = torch.full((64, n), 7.0, device=device)
    kernel = narrow_kernel[(1,)](a, b, c, k, 64, n, step, stages, num_warps=4)
    check(c, a.double() @ b.double(), 3e-3)
    return kernel
