"""What tl.range says about how to compile a loop: stages, unrolling, and hints without effect."""

import blockscope as triton
import blockscope.language as tl
import pytest
from test_dot import check, rand

torch = pytest.importorskip("torch")


@triton.jit
def staged_matmul_kernel(
    a_ptr, b_ptr, c_ptr, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    STAGES: tl.constexpr, UNROLL: tl.constexpr,
):  # fmt: skip
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in tl.range(0, k, K, num_stages=STAGES, loop_unroll_factor=UNROLL):
        steps = start + tl.arange(0, K)
        a = tl.load(a_ptr + m[:, None] * k + steps[None, :])
        b = tl.load(b_ptr + steps[:, None] * N + n[None, :])
        total = tl.dot(a, b, total)
    tl.store(c_ptr + m[:, None] * N + n[None, :], total)


def run_staged_matmul(stages, kernel_stages, unroll, device):
    a, b = rand((64, 160), torch.float16, device), rand((160, 64), torch.float16, device)
    c = torch.full((64, 64), 77.0, device=device)
    staged_matmul_kernel[(1,)](a, b, c, 160, 64, 64, 32, stages, unroll, num_stages=kernel_stages)
    check(c, a.double() @ b.double(), 6e-6)


@pytest.mark.parametrize("stages", [None, 0, 1, 2, 4])
@pytest.mark.parametrize("kernel_stages", [1, 3])
def test_stages_of_a_loop(stages, kernel_stages, device):
    run_staged_matmul(stages, kernel_stages, None, device)


@pytest.mark.parametrize("unroll", [1, 2, 3, 4])
@pytest.mark.parametrize("stages", [1, 3])
def test_unrolled(unroll, stages, device):
    run_staged_matmul(stages, 3, unroll, device)


@triton.jit
def summed_rows_kernel(
    x_ptr, y_ptr, first, last, step, UNROLL: tl.constexpr, WAIT: tl.constexpr, B: tl.constexpr
):
    offsets = tl.arange(0, B)
    total = tl.zeros((B,), dtype=tl.int32)
    for i in tl.range(first, last, step, loop_unroll_factor=UNROLL):
        total = total * 3 + tl.load(x_ptr + i * B + offsets)
        if WAIT:
            tl.debug_barrier()
    tl.store(y_ptr + offsets, total)


@pytest.mark.parametrize("wait", [False, True])
@pytest.mark.parametrize("bounds", [(0, 0, 1), (3, 0, 1), (2, 3, 1), (1, 9, 1), (0, 13, 3)])
def test_unrolled_loops_of_any_count(bounds, wait, device):
    x = torch.randint(-9, 10, (16, 128), dtype=torch.int32, device=device)
    for unroll in (1, 2, 4):
        y = torch.full((128,), 7, dtype=torch.int32, device=device)
        summed_rows_kernel[(1,)](x, y, *bounds, unroll, wait, 128)
        want = torch.zeros_like(y)
        for i in range(*bounds):
            want = want * 3 + x[i]
        assert torch.equal(y, want)


@pytest.mark.parametrize("iterations", [0, 1, 2, 21])
def test_more_stages_than_memory(iterations, device):
    """20 buffers of 16 KiB: as many as there is memory for are taken."""
    run_crowded(iterations, (64, 64, 64), 20, 4, device)


@pytest.mark.parametrize("iterations", [0, 1, 3])
def test_no_memory_for_two_buffers(iterations, device):
    run_crowded(iterations, (128, 256, 256), 3, 8, device)


def run_crowded(iterations, sizes, stages, warps, device):
    m, n, k = sizes
    a = torch.randint(-2, 3, (m, k * iterations), device=device).half()
    b = torch.randint(-2, 3, (k * iterations, n), device=device).half()
    c = torch.full((m, n), 77.0, device=device)
    kernel = staged_matmul_kernel[(1,)](
        a, b, c, k * iterations, m, n, k, None, None, num_stages=stages, num_warps=warps
    )
    assert torch.equal(c, a.float() @ b.float())
    return kernel


@triton.jit
def sums_of_pieces_kernel(
    a_ptr, b_ptr, c_ptr, out_ptr, rounds, depth, M: tl.constexpr, N: tl.constexpr,
    K: tl.constexpr, D: tl.constexpr, PIECES: tl.constexpr,
):  # fmt: skip
    """Attention with wide heads, without its softmax: a product in an inner loop, multiplied by
    pieces of a matrix into more sums than a thread has registers."""
    rows, steps, columns = tl.arange(0, M), tl.arange(0, K), tl.arange(0, D)
    many = tl.arange(0, N)
    zero = tl.zeros((M, D), tl.float32)
    sums = (zero,) * PIECES
    for round in range(rounds):
        keys = round * N + many
        scores = tl.zeros((M, N), tl.float32)
        for k in range(0, depth, K):
            a = tl.load(a_ptr + rows[:, None] * depth + k + steps[None, :])
            b = tl.load(b_ptr + keys[:, None] * depth + k + steps[None, :])
            scores = tl.dot(a, b.T, scores)
        scores = scores.to(tl.float16)
        for i in tl.static_range(PIECES):
            c = tl.load(c_ptr + keys[:, None] * (D * PIECES) + i * D + columns[None, :])
            piece = sums[i] + tl.dot(scores, c)
            sums = sums[:i] + (piece,) + sums[i + 1 :]
    for i in tl.static_range(PIECES):
        at = rows[:, None] * (D * PIECES) + i * D + columns[None, :]
        tl.store(out_ptr + at, sums[i])


@pytest.mark.parametrize("rounds", [0, 2, 3])
def test_sums_of_pieces(rounds, device):
    run_sums_of_pieces(rounds, device)


def run_sums_of_pieces(rounds, device, depth=128, pieces=8):
    a = torch.randint(-1, 2, (64, depth), device=device).half()
    b = torch.randint(-1, 2, (128 * rounds, depth), device=device).half()
    c = torch.randint(-2, 3, (128 * rounds, 64 * pieces), device=device).half()
    out = torch.full((64, 64 * pieces), 7.0, device=device)
    kernel = sums_of_pieces_kernel[(1,)](
        a, b, c, out, rounds, depth, 64, 128, 64, 64, pieces, num_warps=4, num_stages=3
    )
    assert torch.equal(out, a.float() @ b.float().T @ c.float())
    return kernel


@triton.jit
def columns_kernel(
    x_ptr, most_ptr, sum_ptr, rows, n, N: tl.constexpr, STAGES: tl.constexpr, OTHER: tl.constexpr
):
    """No dots: the loads of a loop that asks for stages itself."""
    columns = tl.arange(0, N)
    most = tl.full((N,), float("-inf"), tl.float32)
    total = tl.zeros((N,), dtype=tl.float32)
    for row in tl.range(0, rows, num_stages=STAGES):
        x = tl.load(x_ptr + row * N + columns, mask=columns < n - row, other=OTHER)
        most = tl.maximum(most, x)
        total += tl.where(columns < n - row, x, 0.0)
    tl.store(most_ptr + columns, most)
    tl.store(sum_ptr + columns, total)


@pytest.mark.parametrize("stages", [1, 2, 5])
@pytest.mark.parametrize("other", [0.0, float("-inf")])
@pytest.mark.parametrize("rows", [0, 2, 7])
def test_loads_without_products(rows, other, stages, device):
    size, n = 512, 384
    x = torch.randint(-99, 100, (max(rows, 1), size), device=device).float()
    most, total = torch.zeros(size, device=device), torch.zeros(size, device=device)
    columns_kernel[(1,)](x, most, total, rows, n, size, stages, other)
    shown = torch.arange(size, device=device) < n - torch.arange(rows, device=device)[:, None]
    seen = torch.where(shown, x[:rows], other)
    low = torch.full((1, size), float("-inf"), device=device)
    assert torch.equal(most, torch.cat([low, seen]).max(0).values)
    assert torch.equal(total, torch.where(shown, x[:rows], 0.0).sum(0))


@triton.jit
def hinted_kernel(out_ptr, n):
    total = 0
    for i in tl.range(
        0, n, disallow_acc_multi_buffer=True, flatten=True, warp_specialize=True, disable_licm=True
    ):
        total += i
    tl.store(out_ptr, total)


def test_hints_without_effect(device):
    out = torch.zeros(1, dtype=torch.int32, device=device)
    hinted_kernel[(1,)](out, 10)
    assert out.item() == 45


@triton.jit
def in_place_kernel(x_ptr, y_ptr, rows, N: tl.constexpr, STAGES: tl.constexpr):
    """Each iteration loads what the one before stored, when both pointers are of one tensor."""
    columns = tl.arange(0, N)
    for row in tl.range(0, rows, num_stages=STAGES):
        x = tl.load(x_ptr + row * N + columns)
        tl.store(y_ptr + (row + 1) * N + columns, x * 2)


@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize("one_tensor", [True, False])
def test_stores_before_later_loads(one_tensor, stages, device):
    x = torch.arange(6 * 128, device=device).float().reshape(6, 128)
    y = x if one_tensor else torch.zeros_like(x)
    first = x.clone()
    in_place_kernel[(1,)](x, y, 5, 128, stages)
    for row in range(5):
        assert torch.equal(y[row + 1], first[0] * 2 ** (row + 1) if one_tensor else first[row] * 2)


@triton.jit
def product_in_an_if_kernel(a_ptr, b_ptr, c_ptr, K, first, N: tl.constexpr, BLOCK: tl.constexpr):
    n, step = tl.arange(0, N), tl.arange(0, BLOCK)
    total = tl.zeros((N, N), tl.float32)
    for k in range(0, K, BLOCK):
        a = tl.load(a_ptr + n[:, None] * K + (k + step)[None, :])
        b = tl.load(b_ptr + (k + step)[:, None] * N + n[None, :])
        if k > first:
            total = tl.dot(a, b, total)
    tl.store(c_ptr + n[:, None] * N + n[None, :], total)


def test_product_in_an_if(device):
    a = torch.randn(64, 96, device=device).half()
    b = torch.randn(96, 64, device=device).half()
    c = torch.zeros(64, 64, device=device)
    product_in_an_if_kernel[1,](a, b, c, 96, 3, 64, 32, num_warps=4, num_stages=2)
    want = a[:, 32:].double() @ b[32:].double()
    assert (c.double() - want).abs().max() <= 1e-4


@triton.jit
def sums_leave_an_if_kernel(
    a_ptr, b_ptr, most_ptr, count_ptr, K, N: tl.constexpr, BLOCK: tl.constexpr
):
    n, step = tl.arange(0, N), tl.arange(0, BLOCK)
    if K > 0:
        most = tl.full((N,), float("-inf"), tl.float32)
        for k in range(0, K, BLOCK):
            a = tl.load(a_ptr + n[:, None] * K + (k + step)[None, :])
            b = tl.load(b_ptr + (k + step)[:, None] * N + n[None, :])
            most = tl.maximum(most, tl.max(tl.dot(a, b), axis=1))
        result = most + 1.0
    else:
        most = tl.zeros((N,), tl.float32)
        result = most
    tl.store(most_ptr + n, most)
    tl.store(count_ptr + n, result)


@pytest.mark.parametrize("k", [0, 96])
def test_what_is_made_of_sums_leaves_an_if(k, device):
    """As the loop's own result, and as what is computed from it."""
    a = torch.randn(64, k, device=device).half()
    b = torch.randn(k, 64, device=device).half()
    most, more = torch.ones(64, device=device), torch.ones(64, device=device)
    sums_leave_an_if_kernel[1,](a, b, most, more, k, 64, 32, num_warps=4, num_stages=2)
    want = torch.zeros(64, device=device, dtype=torch.float64)
    if k:
        products = a.double().reshape(64, -1, 32).transpose(0, 1) @ b.double().reshape(-1, 32, 64)
        want = products.amax((0, 2))
    assert (most.double() - want).abs().max() <= 1e-4
    assert (more.double() - want - int(k > 0)).abs().max() <= 1e-4


@triton.jit
def heads_kernel(
    a_ptr, b_ptr, c_ptr, K, H: tl.constexpr, M: tl.constexpr, N: tl.constexpr, BLOCK: tl.constexpr
):
    """Sums of several heads' rows at once, each iteration's in the shape of heads."""
    head, row, column, step = tl.arange(0, H), tl.arange(0, M), tl.arange(0, N), tl.arange(0, BLOCK)
    rows = (head[:, None, None] * M + row[None, :, None]) * K
    total = tl.zeros((H, M, N), tl.float32)
    for k in range(0, K, BLOCK):
        a = tl.load(a_ptr + rows + (k + step)[None, None, :])
        b = tl.load(b_ptr + (k + step)[:, None] * N + column[None, :])
        product = tl.dot(tl.reshape(a, (H * M, BLOCK)), b)
        total = total * 0.5 + tl.reshape(product, (H, M, N))
    at = (head[:, None, None] * M + row[None, :, None]) * N + column[None, None, :]
    tl.store(c_ptr + at, total)


@pytest.mark.parametrize("heads", [2, 8])
def test_sums_in_another_shape(heads, device):
    a = torch.randn(heads, 16, 96, device=device).half()
    b = torch.randn(96, 64, device=device).half()
    c = torch.zeros(heads, 16, 64, device=device)
    heads_kernel[1,](a, b, c, 96, heads, 16, 64, 32, num_warps=4, num_stages=2)
    weights = 0.5 ** torch.arange(2, -1, -1, device=device).double().repeat_interleave(32)
    want = (a.double() * weights) @ b.double()
    assert (c.double() - want).abs().max() <= 1e-4


@triton.jit
def gathered_rows_kernel(
    a_ptr, x_ptr, near_ptr, c_ptr, k, M: tl.constexpr, K: tl.constexpr, V: tl.constexpr,
    N: tl.constexpr,
):  # fmt: skip
    """The second operand: of each row V gathered ones, beside each other; none where below 0."""
    m, n, v = tl.arange(0, M), tl.arange(0, N), tl.arange(0, V)
    total = tl.zeros((M, V * N), tl.float32)
    for start in range(0, k, K):
        steps = start + tl.arange(0, K)
        near = tl.load(near_ptr + steps[:, None] * V + v[None, :])[:, :, None]
        a = tl.load(a_ptr + m[:, None] * k + steps[None, :])
        b = tl.load(x_ptr + near * N + n[None, None, :], mask=near >= 0, other=0.0)
        total = tl.dot(a, b.reshape(K, V * N), total)
    columns = tl.arange(0, V * N)
    tl.store(c_ptr + m[:, None] * (V * N) + columns[None, :], total)


@pytest.mark.parametrize("v", [1, 2, 4])
def test_gathered_rows_beside_each_other(v, device):
    m, k, n, rows = 64, 96, 128 // v, 40
    a, x = rand((m, k), torch.float16, device), rand((rows, n), torch.float16, device)
    near = torch.randint(-1, rows, (k, v), dtype=torch.int32, device=device)
    c = torch.full((m, v * n), 77.0, device=device)
    gathered_rows_kernel[(1,)](a, x, near, c, k, m, 32, v, n, num_stages=3)
    b = torch.where(near[..., None] >= 0, x[near.long()], 0).reshape(k, v * n)
    check(c, a.double() @ b.double(), 6e-6)


@triton.jit
def chunks_kernel(
    k_ptr, v_ptr, state_ptr, chunks, shift, N: tl.constexpr, DESCRIPTORS: tl.constexpr
):
    """The states of linear attention before each chunk, behind the first `shift` elements."""
    rows, columns = tl.arange(0, N), tl.arange(0, N)
    if DESCRIPTORS:
        keys = tl.make_tensor_descriptor(k_ptr, [chunks * N, N], [N, 1], [N, N])
        values = tl.make_tensor_descriptor(v_ptr, [chunks * N, N], [N, 1], [N, N])
        states = tl.make_tensor_descriptor(state_ptr, [chunks * N + shift, N], [N, 1], [N, N])
    state = tl.zeros((N, N), tl.float32)
    for chunk in range(chunks):
        at = (chunk * N + rows)[:, None] * N + columns[None, :]
        if DESCRIPTORS:
            states.store([chunk * N + shift, 0], state.to(tl.float16))
            k, v = keys.load([chunk * N, 0]), values.load([chunk * N, 0])
        else:
            tl.store(state_ptr + shift * N + at, state.to(tl.float16))
            k, v = tl.load(k_ptr + at), tl.load(v_ptr + at)
        state = tl.dot(tl.trans(k), v, state)


def run_chunks(chunks, descriptors, device, stages, warps=4, size=64):
    k, v = (torch.randint(-1, 2, (chunks * size, size), device=device).half() for _ in range(2))
    out = torch.full((chunks * size, size), 77.0, device=device).half()
    kernel = chunks_kernel[(1,)](
        k, v, out, chunks, 0, size, descriptors, num_stages=stages, num_warps=warps
    )
    want = torch.zeros(size, size, device=device)
    for chunk in range(chunks):
        part = slice(chunk * size, (chunk + 1) * size)
        assert torch.equal(out[part].float(), want)
        want += k[part].float().T @ v[part].float()
    return kernel


@pytest.mark.parametrize("descriptors", [False, True])
@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("chunks", [1, 2, 7])
def test_a_loop_that_stores(chunks, stages, descriptors, device):
    run_chunks(chunks, descriptors, device, stages)


@triton.jit
def growing_kernel(
    x_ptr, w_ptr, y_ptr, sum_ptr, count, shift, N: tl.constexpr, DESCRIPTORS: tl.constexpr
):
    """What an iteration stores the next one may load; each thread has the same elements."""
    rows, columns = tl.arange(0, N), tl.arange(0, N)
    if DESCRIPTORS:
        xs = tl.make_tensor_descriptor(x_ptr, [count * N, N], [N, 1], [N, N])
        ys = tl.make_tensor_descriptor(y_ptr, [count * N + shift, N], [N, 1], [N, N])
    w = tl.load(w_ptr + rows[:, None] * N + columns[None, :])
    total = tl.zeros((N, N), tl.float32)
    for i in range(count):
        at = (i * N + rows)[:, None] * N + columns[None, :]
        if DESCRIPTORS:
            x = xs.load([i * N, 0])
            ys.store([i * N + shift, 0], x + 1)
        else:
            x = tl.load(x_ptr + at)
            tl.store(y_ptr + shift * N + at, x + 1)
        total = tl.dot(x, w, total)
    tl.store(sum_ptr + rows[:, None] * N + columns[None, :], total)


def run_growing(count, form, descriptors, device, stages, warps=4, size=64):
    """`form` says what the two tensors are: "separate", "views" of one storage, or "same"."""
    memory = torch.randint(-1, 2, ((count + 1) * size, size), device=device).half()
    w = torch.randint(-1, 2, (size, size), device=device).half()
    before = memory.clone()
    x = memory if form == "same" else memory[: count * size]
    y = {"separate": memory.clone(), "views": memory[size:], "same": memory}[form]
    shift = size if form == "same" else 0
    total = torch.zeros(size, size, device=device)
    for _ in range(3):  # the short way, too
        memory.copy_(before)
        growing_kernel[(1,)](
            x, w, y, total, count, shift, size, descriptors, num_stages=stages, num_warps=warps
        )
        want = torch.zeros_like(total)
        for i in range(count):
            part = slice(i * size, (i + 1) * size)
            loaded = before[part] if form == "separate" else before[:size] + i
            assert torch.equal(y[i * size + shift :][:size], loaded + 1)
            want += loaded.float() @ w.float()
        assert torch.equal(total, want)


@pytest.mark.parametrize("descriptors", [False, True])
@pytest.mark.parametrize("form", ["separate", "views", "same"])
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_what_an_iteration_stores_and_the_next_one_loads(stages, form, descriptors, device):
    run_growing(5, form, descriptors, device, stages)


@triton.jit
def biased_attention_kernel(
    q_ptr, k_ptr, v_ptr, bias_ptr, out_ptr, heads, keys, columns,
    M: tl.constexpr, N: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    m, n, d = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    for head in range(heads):
        q = tl.load(q_ptr + head * M * D + m[:, None] * D + d[None, :])
        top = tl.full((M,), -float("inf"), tl.float32)
        weights, total = tl.zeros((M,), tl.float32), tl.zeros((M, D), tl.float32)
        for start in range(0, keys, N):
            at = start + n
            inside = at < keys
            rows = head * keys * D + at[:, None] * D + d[None, :]
            k = tl.load(k_ptr + rows, inside[:, None], 0.0)
            v = tl.load(v_ptr + rows, inside[:, None], 0.0)
            bias = tl.load(bias_ptr + head * M * columns + m[:, None] * columns + at[None, :])
            s = tl.dot(q, k.T) + bias.to(tl.float32)
            s = tl.where(inside[None, :], s, -float("inf"))
            new_top = tl.maximum(top, tl.max(s, 1))
            p, scale = tl.exp(s - new_top[:, None]), tl.exp(top - new_top)
            weights = weights * scale + tl.sum(p, 1)
            total = tl.dot(p.to(tl.float16), v, total * scale[:, None])
            top = new_top
        total = tl.where(keys > 0, total / weights[:, None], 0.0)
        tl.store(out_ptr + head * M * D + m[:, None] * D + d[None, :], total)


def run_biased_attention(heads, keys, device, dtype=torch.float16):
    """Rings for K, V and the biases leave room for one program of four warps, one buffer of the
    biases for two. In fp32 these are what the scores begin with."""
    m, n, d = 128, 128, 64 if heads == 1 and dtype == torch.float16 else 32
    columns = max(n, -(-keys // n) * n)
    q, k, v = (rand((heads, rows, d), torch.float16, device) for rows in (m, keys, keys))
    bias = rand((heads, m, columns), dtype, device)
    out = torch.full((heads, m, d), 77.0, device=device)
    kernel = biased_attention_kernel[(1,)](
        q, k, v, bias, out, heads, keys, columns, m, n, d, num_warps=4, num_stages=2
    )
    scores = q.double() @ k.double().mT + bias[:, :, :keys].double()
    check(out, scores.softmax(-1) @ v.double(), 2e-3)
    return kernel


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize("heads", [1, 3])
@pytest.mark.parametrize("keys", [0, 64, 128, 200, 640])
def test_one_buffer_of_what_threads_read(keys, heads, dtype, device):
    run_biased_attention(heads, keys, device, dtype)
