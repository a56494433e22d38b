"""One loop over the steps of several tiles, with an `if` for the next tile and one that stores."""

import blockscope as triton
import blockscope.language as tl
import pytest

torch = pytest.importorskip("torch")


@triton.jit
def flat_matmul_kernel(
    a_ptr, b_ptr, c_ptr, order_ptr, m, n, k, width,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, FORM: tl.constexpr,
):  # fmt: skip
    """c = a @ b^T, all tiles by each of `width` programs in turn."""
    steps, columns = tl.cdiv(k, K), tl.cdiv(n, N)
    tiles = tl.cdiv(m, M) * columns
    first = tl.program_id(0)
    own = tiles // width + (first < tiles % width).to(tl.int32)
    if FORM == "described":
        a_described = tl.make_tensor_descriptor(a_ptr, [m, k], [k, 1], [M, K])
        b_described = tl.make_tensor_descriptor(b_ptr, [n, k], [k, 1], [N, K])
    tile, step = first - width, -1
    row, column = 0, 0
    rows, others, depth = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((M, N), tl.float32)
    for _ in range(own * steps):
        step = tl.where(step == steps - 1, 0, step + 1)
        if step == 0:
            tile += width
            at = tile
            if FORM == "listed":  # a table says which tile it is
                at = tl.load(order_ptr + tile)
            row, column = at // columns * M, at % columns * N
            if FORM == "blocks":
                rows, others = row + tl.arange(0, M), column + tl.arange(0, N)
            if FORM == "begun":
                total = tl.zeros((M, N), tl.float32)
        if FORM == "described":
            a = a_described.load([row, step * K])
            b = b_described.load([column, step * K])
        else:
            if FORM != "blocks":
                rows, others = row + tl.arange(0, M), column + tl.arange(0, N)
            at_k = step * K + depth
            is_k = at_k[None, :] < k
            a = tl.load(a_ptr + rows[:, None] * k + at_k[None, :],
                        mask=(rows[:, None] < m) & is_k, other=0.0)  # fmt: skip
            b = tl.load(b_ptr + others[:, None] * k + at_k[None, :],
                        mask=(others[:, None] < n) & is_k, other=0.0)  # fmt: skip
        total = tl.dot(a, b.trans(), total)
        if step == steps - 1:
            to_rows, to_columns = row + tl.arange(0, M), column + tl.arange(0, N)
            inside = (to_rows[:, None] < m) & (to_columns[None, :] < n)
            tl.store(c_ptr + to_rows[:, None] * n + to_columns[None, :], total, mask=inside)
            if FORM != "begun":
                total = tl.zeros((M, N), tl.float32)


FORMS = ("described", "pointers", "blocks", "begun", "listed")


def run_flat_matmul(form, shape, width, stages, device, tile=(16, 16, 16), warps=4):
    m, n, k = shape
    a = torch.randint(-2, 3, (m, k), device=device).half()
    b = torch.randint(-2, 3, (n, k), device=device).half()
    c = torch.full((m, n), 77.0, device=device)
    tiles = -(-m // tile[0]) * -(-n // tile[1])
    order = torch.randperm(tiles, device=device).int()
    kernel = flat_matmul_kernel[(width,)](
        a, b, c, order, m, n, k, width, *tile, form, num_stages=stages, num_warps=warps
    )
    assert torch.equal(c, a.float() @ b.float().T)
    return kernel


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize("shape", [(16, 16, 16), (40, 33, 16), (40, 56, 80), (64, 80, 112)])
@pytest.mark.parametrize("width", [1, 3, 40])
def test_flat_matmul(width, shape, stages, form, device):
    run_flat_matmul(form, shape, width, stages, device)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("warps", [4, 8])
def test_flat_matmul_of_warpgroups(warps, form, device):
    run_flat_matmul(form, (400, 520, 208), 5, 3, device, (128, 64, 64), warps)
