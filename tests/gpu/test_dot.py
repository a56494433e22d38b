"""Dots of tiles on the GPU: dtypes, shapes, transposed operands, warps, stages of pipelining,
masks. References are computed in float64 from the same inputs; tolerances are relative to the
largest value of the result and say what the inputs and the accumulator are rounded to.
"""

import blockscope as triton
import blockscope.language as tl
import pytest

torch = pytest.importorskip("torch")


def rand(shape, dtype, device):
    """Random values of a dtype, small enough that products do not leave fp16."""
    if dtype in (torch.int8, torch.uint8):
        low = 0 if dtype == torch.uint8 else -128
        return torch.randint(low, 128, shape, device=device).to(dtype)
    return torch.randn(shape, device=device, dtype=torch.float32).to(dtype)


def check(got, want, tolerance):
    got, want = got.double(), want.double()
    assert torch.isfinite(got).all()
    error = (got - want).abs().max().item()
    limit = tolerance * max(want.abs().max().item(), 1e-30)
    assert error <= limit, f"largest error {error}, allowed {limit}"


# -- one dot ---------------------------------------------------------------------------------------


@triton.jit
def dot_kernel(
    a_ptr, b_ptr, c_ptr, out_ptr, a_row, a_col, b_row, b_col,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    PRECISION: tl.constexpr, OUT: tl.constexpr, TRANS_A: tl.constexpr, TRANS_B: tl.constexpr,
):  # fmt: skip
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    k = tl.arange(0, K)
    if TRANS_A:
        a = tl.trans(tl.load(a_ptr + k[:, None] * a_col + m[None, :] * a_row))
    else:
        a = tl.load(a_ptr + m[:, None] * a_row + k[None, :] * a_col)
    if TRANS_B:
        b = tl.trans(tl.load(b_ptr + n[:, None] * b_col + k[None, :] * b_row))
    else:
        b = tl.load(b_ptr + k[:, None] * b_row + n[None, :] * b_col)
    c = tl.load(c_ptr + m[:, None] * N + n[None, :])
    d = tl.dot(a, b, c, input_precision=PRECISION, out_dtype=OUT)
    tl.store(out_ptr + m[:, None] * N + n[None, :], d)


def run_dot(a, b, out_dtype, tolerance, precision="ieee", warps=4, trans=(False, False)):
    (m, k), n = a.shape, b.shape[1]
    c = rand((m, n), torch.int8, a.device).to(out_dtype)
    out = torch.full((m, n), 77, device=a.device, dtype=out_dtype)
    names = {torch.float16: tl.float16, torch.float64: tl.float64, torch.int32: tl.int32}
    dot_kernel[(1,)](
        a, b, c, out, *a.stride(), *b.stride(), m, n, k, precision,
        names.get(out_dtype, tl.float32), *trans, num_warps=warps,
    )  # fmt: skip
    want = c.double() + a.double() @ b.double()
    if tolerance == 0:
        assert torch.equal(out.double(), want)
    else:
        check(out, want, tolerance)


SHAPES = [(16, 16, 16), (32, 32, 64), (64, 64, 32), (64, 128, 64), (128, 128, 32), (128, 256, 64),
          (256, 64, 16), (16, 128, 32), (128, 16, 64), (64, 16, 128)]  # fmt: skip


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_halves(dtype, shape, warps, device):
    m, n, k = shape
    run_dot(rand((m, k), dtype, device), rand((k, n), dtype, device), torch.float32, 4e-6,
            warps=warps)  # fmt: skip


@pytest.mark.parametrize("warps", [1, 2, 16])
@pytest.mark.parametrize("shape", [(16, 16, 16), (64, 64, 64), (128, 64, 32)])
def test_other_numbers_of_warps(shape, warps, device):
    m, n, k = shape
    run_dot(rand((m, k), torch.float16, device), rand((k, n), torch.float16, device),
            torch.float32, 4e-6, warps=warps)  # fmt: skip


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("shape", [(64, 64, 32), (128, 64, 64), (16, 32, 16), (128, 128, 128)])
@pytest.mark.parametrize("lies", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("trans", [(False, False), (True, True)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float8_e4m3fn, torch.int8])
def test_orders(dtype, trans, lies, shape, warps, device):
    """Operands that lie row by row and column by column, and that the kernel transposes."""
    m, n, k = shape
    if dtype in (torch.float8_e4m3fn, torch.int8) and k < 32:
        k = 32
    a, b = rand((m, k), dtype, device), rand((k, n), dtype, device)
    a = a.T.contiguous().T if lies[0] else a
    b = b.T.contiguous().T if lies[1] else b
    out = torch.int32 if dtype == torch.int8 else torch.float32
    tolerance = {torch.int8: 0, torch.float32: 2e-3, torch.float8_e4m3fn: 2e-3}.get(dtype, 4e-6)
    run_dot(a, b, out, tolerance, precision="tf32", warps=warps, trans=trans)


@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("shape", [(16, 16, 16), (64, 64, 32), (32, 128, 64), (8, 8, 8), (2, 4, 2)])
@pytest.mark.parametrize(
    "precision, tolerance",
    [("ieee", 4e-6), ("tf32", 2e-3), ("tf32x3", 6e-6), ("bf16x3", 5e-5), ("bf16x6", 6e-6)],
)
def test_fp32(precision, tolerance, shape, warps, device):
    m, n, k = shape
    run_dot(rand((m, k), torch.float32, device), rand((k, n), torch.float32, device),
            torch.float32, tolerance, precision, warps)  # fmt: skip


@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("shape", [(16, 16, 16), (64, 64, 32), (32, 64, 4), (8, 8, 4), (4, 2, 2)])
def test_fp64(shape, warps, device):
    m, n, k = shape
    run_dot(rand((m, k), torch.float64, device), rand((k, n), torch.float64, device),
            torch.float64, 1e-14, warps=warps)  # fmt: skip


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize(
    "shape", [(16, 16, 16), (64, 64, 32), (128, 128, 64), (64, 256, 128), (128, 64, 16), (8, 8, 16)]
)
@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8])
def test_int8(dtype, shape, warps, device):
    m, n, k = shape
    b = rand((n, k), dtype, device).T  # along K
    run_dot(rand((m, k), dtype, device), b, torch.int32, 0, warps=warps)


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize(
    "shape", [(16, 16, 16), (64, 64, 32), (128, 128, 64), (64, 256, 128), (128, 64, 16), (8, 8, 16)]
)
@pytest.mark.parametrize("left", [torch.float8_e4m3fn, torch.float8_e5m2])
@pytest.mark.parametrize("right", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_fp8(left, right, shape, warps, device):
    m, n, k = shape
    b = rand((n, k), right, device).T
    # The tensor cores of sm_90 cut each sum of fp8 products to about 13 bits, once an instruction.
    run_dot(rand((m, k), left, device), b, torch.float32, 2e-3, warps=warps)


@triton.jit
def limited_kernel(
    a_ptr, b_ptr, c_ptr, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, LIMIT: tl.constexpr
):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, K):
        steps = start + tl.arange(0, K)
        a = tl.load(a_ptr + m[:, None] * k + steps[None, :])
        b = tl.load(b_ptr + n[None, :] * k + steps[:, None])
        total = tl.dot(a, b, total, max_num_imprecise_acc=LIMIT)
    tl.store(c_ptr + m[:, None] * N + n[None, :], total)


def run_limited(limit, iterations, device):
    """How far the sum of 1024 small terms after a large one is off, relative to it."""
    m, n, k = 128, 64, 128
    a = torch.full((m, iterations * k), 2.0**-4, device=device).to(torch.float8_e4m3fn)
    b = torch.full((n, iterations * k), 2.0**-4, device=device).to(torch.float8_e4m3fn)
    a[:, 0], b[:, 0] = 16.0, 16.0
    c = torch.full((m, n), 77.0, device=device)
    limited_kernel[(1,)](a, b, c, iterations * k, m, n, k, limit)
    want = (a.double() @ b.double().T)[0, 0].item()
    assert (c == c[0, 0]).all()
    return abs(c[0, 0].item() - want) / want


@pytest.mark.parametrize("limit", [0, 32, 48, 64, 128])
@pytest.mark.parametrize("iterations", [1, 8])
def test_limit_of_imprecise_sums(limit, iterations, device):
    error = run_limited(limit, iterations, device)
    # Of what follows the first `limit` products nothing is lost.
    assert error <= max(32, limit) * 2.0**-8 / 256


@pytest.mark.parametrize("dtype", [torch.float16, torch.float8_e5m2])
@pytest.mark.parametrize("shape", [(16, 16, 32), (64, 64, 64), (128, 128, 64)])
def test_fp16_results(dtype, shape, device):
    m, n, k = shape
    run_dot(rand((m, k), dtype, device), rand((k, n), dtype, device), torch.float16, 2e-3)


@triton.jit
def batched_kernel(
    a_ptr, b_ptr, out_ptr,
    B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    i = tl.arange(0, B)[:, None, None]
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    k = tl.arange(0, K)
    a = tl.load(a_ptr + i * M * K + m[None, :, None] * K + k[None, None, :])
    b = tl.load(b_ptr + i * K * N + k[None, :, None] * N + n[None, None, :])
    d = tl.dot(a, b, input_precision=PRECISION)
    tl.store(out_ptr + i * M * N + m[None, :, None] * N + n[None, None, :], d)


@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("shape", [(2, 16, 16, 16), (4, 32, 16, 32), (8, 64, 64, 16)])
@pytest.mark.parametrize(
    "dtype, tolerance", [(torch.float16, 4e-6), (torch.float32, 4e-6), (torch.int8, 0)]
)
def test_batched(dtype, tolerance, shape, warps, device):
    batch, m, n, k = shape
    a, b = rand((batch, m, k), dtype, device), rand((batch, k, n), dtype, device)
    out_dtype = torch.int32 if dtype == torch.int8 else torch.float32
    out = torch.full((batch, m, n), 77, dtype=out_dtype, device=device)
    batched_kernel[(1,)](a, b, out, *shape, "ieee", num_warps=warps)
    want = a.double() @ b.double()
    if tolerance == 0:
        assert torch.equal(out.double(), want)
    else:
        check(out, want, tolerance)


# -- loops -----------------------------------------------------------------------------------------


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, m, n, k, a_row, a_col, b_row, b_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    MASKED: tl.constexpr, PRECISION: tl.constexpr, SUMS: tl.constexpr = tl.float32,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    steps = tl.arange(0, BLOCK_K)
    a_block = a_ptr + rows[:, None] * a_row + steps[None, :] * a_col
    b_block = b_ptr + steps[:, None] * b_row + columns[None, :] * b_col
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=SUMS)
    for start in range(0, k, BLOCK_K):
        if MASKED:
            left = steps < k - start
            a = tl.load(a_block, mask=(rows < m)[:, None] & left[None, :], other=0.0)
            b = tl.load(b_block, mask=left[:, None] & (columns < n)[None, :], other=0.0)
        else:
            a = tl.load(a_block)
            b = tl.load(b_block)
        total = tl.dot(a, b, total, input_precision=PRECISION, out_dtype=SUMS)
        a_block += BLOCK_K * a_col
        b_block += BLOCK_K * b_row
    c_block = c_ptr + rows[:, None] * n + columns[None, :]
    inside = (rows < m)[:, None] & (columns < n)[None, :]
    tl.store(c_block, total.to(c_ptr.dtype.element_ty), mask=inside)


def run_matmul(a, b, blocks, tolerance, warps, stages, precision="tf32"):
    (m, k), n = a.shape, b.shape[1]
    c = torch.full((m, n), 77, device=a.device, dtype=torch.float32)
    masked = m % blocks[0] != 0 or n % blocks[1] != 0 or k % blocks[2] != 0
    grid = (triton.cdiv(m, blocks[0]), triton.cdiv(n, blocks[1]))
    kernel = matmul_kernel[grid](
        a, b, c, m, n, k, *a.stride(), *b.stride(), *blocks, masked, precision,
        num_warps=warps, num_stages=stages,
    )  # fmt: skip
    check(c, a.double() @ b.double(), tolerance)
    return kernel


@triton.jit
def group_scales_kernel(
    a_ptr, b_ptr, row_ptr, column_ptr, c_ptr, m, n, k, group,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    steps = tl.arange(0, BLOCK_K)
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, k, BLOCK_K):
        at = start + steps
        a = tl.load(
            a_ptr + rows[:, None] * k + at[None, :],
            mask=(rows < m)[:, None] & (at < k)[None, :],
            other=0.0,
        )
        b = tl.load(
            b_ptr + at[:, None] * n + columns[None, :],
            mask=(at < k)[:, None] & (columns < n)[None, :],
            other=0.0,
        )
        one = start // group  # of the groups of K that share their scales
        by_row = tl.load(row_ptr + one * m + rows, mask=rows < m, other=0.0)
        by_column = tl.load(column_ptr + one * n + columns, mask=columns < n, other=0.0)
        total += tl.dot(a, b) * by_row[:, None] * by_column[None, :]
    inside = (rows < m)[:, None] & (columns < n)[None, :]
    tl.store(c_ptr + rows[:, None] * n + columns[None, :], total, mask=inside)


def run_scaled(m, n, k, group, stages, device):
    """The sums of each group of K are multiplied by scales of rows and columns."""
    a, b = rand((m, k), torch.float16, device), rand((k, n), torch.float16, device)
    groups = max(1, triton.cdiv(k, group))
    rows, columns = (rand((groups, x), torch.float32, device) for x in (m, n))
    c = torch.full((m, n), 77, device=device, dtype=torch.float32)
    kernel = group_scales_kernel[(triton.cdiv(m, 64), triton.cdiv(n, 64))](
        a, b, rows, columns, c, m, n, k, group, 64, 64, 32, num_warps=4, num_stages=stages
    )
    want = torch.zeros((m, n), dtype=torch.float64, device=device)
    for start in range(0, k, group):
        part = a[:, start : start + group].double() @ b[start : start + group].double()
        want += part * rows[start // group][:, None] * columns[start // group][None, :]
    check(c, want, 6e-6)
    return kernel


@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize("k", [0, 32, 64, 224])
def test_scales_of_groups(k, stages, device):
    run_scaled(96, 80, k, 64, stages, device)


def run_integers(a, b, blocks, stages):
    """Of bytes, masked, with `other=0.0`."""
    (m, k), n = a.shape, b.shape[1]
    c = torch.full((m, n), 77, device=a.device, dtype=torch.int32)
    grid = (triton.cdiv(m, blocks[0]), triton.cdiv(n, blocks[1]))
    matmul_kernel[grid](
        a, b, c, m, n, k, *a.stride(), *b.stride(), *blocks, True, "tf32", tl.int32,
        num_warps=4, num_stages=stages,
    )  # fmt: skip
    assert torch.equal(c.double(), a.double() @ b.double())


@pytest.mark.parametrize("depth", [16, 80, 81])
def test_bytes_with_a_zero_of_floats(depth, device):
    a, b = rand((40, depth), torch.int8, device), rand((32, depth), torch.int8, device).T
    run_integers(a, b, (32, 32, 32), 3)


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("lies", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("blocks", [(64, 64, 32), (128, 128, 64), (32, 64, 32)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_matmul(dtype, blocks, lies, warps, stages, device):
    a, b = rand((256, 512), dtype, device), rand((512, 384), dtype, device)
    a = a.T.contiguous().T if lies[0] else a
    b = b.T.contiguous().T if lies[1] else b
    run_matmul(a, b, blocks, 6e-6, warps, stages)


@pytest.mark.parametrize("stages", [3, 4])
@pytest.mark.parametrize("size", [512, 1024, 2048])
def test_large_tiles(size, stages, device):
    a, b = rand((size, size), torch.float16, device), rand((size, size), torch.float16, device)
    run_matmul(a, b, (128, 256, 64), 1e-5, 8, stages)


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize(
    "sizes",
    [(100, 72, 40), (65, 33, 17), (256, 256, 8), (128, 256, 72), (1, 1, 1), (300, 200, 504)],
)
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_masked_matmul(dtype, sizes, warps, stages, device):
    m, n, k = sizes
    tolerance = 6e-6 if dtype == torch.float16 else 2e-3
    run_matmul(rand((m, k), dtype, device), rand((k, n), dtype, device), (64, 64, 32), tolerance,
               warps, stages)  # fmt: skip


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("along_k", [False, True])
@pytest.mark.parametrize(
    "dtype, precision, tolerance",
    [
        (torch.float32, "tf32", 2e-3),
        (torch.float32, "ieee", 6e-6),
        (torch.float32, "tf32x3", 4e-6),
        # wgmma cuts sums of fp8 off at 13 bits (docs/numerics.md): ten times over K, that comes to
        # 6e-4 of the largest result, and for one matrix in 40 to more than 1e-3.
        (torch.float8_e4m3fn, "ieee", 3e-3),
        (torch.float8_e5m2, "ieee", 3e-3),
        (torch.float64, "ieee", 1e-13),
    ],
)
def test_matmul_of_dtypes(dtype, precision, tolerance, along_k, warps, stages, device):
    a, b = rand((128, 320), dtype, device), rand((320, 128), dtype, device)
    b = b.T.contiguous().T if along_k else b
    blocks = (64, 64, 64 if dtype.itemsize == 1 else 32)
    if dtype == torch.float64:
        out = torch.empty(64, 64, device=device, dtype=dtype)
        loop_fp64_kernel[(1,)](a, b, out, 320, *a.stride(), *b.stride(), 64, 32, num_warps=warps,
                               num_stages=stages)  # fmt: skip
        check(out, (a @ b)[:64, :64], tolerance)
        return
    run_matmul(a, b, blocks, tolerance, warps, stages, precision)


@triton.jit
def loop_fp64_kernel(
    a_ptr, b_ptr, c_ptr, k, a_row, a_col, b_row, b_col, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr
):
    i = tl.arange(0, BLOCK)
    steps = tl.arange(0, BLOCK_K)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float64)
    for start in range(0, k, BLOCK_K):
        a = tl.load(a_ptr + i[:, None] * a_row + (start + steps)[None, :] * a_col)
        b = tl.load(b_ptr + (start + steps)[:, None] * b_row + i[None, :] * b_col)
        total = tl.dot(a, b, total)
    tl.store(c_ptr + i[:, None] * BLOCK + i[None, :], total)


@triton.jit
def two_products_kernel(a_ptr, b_ptr, c_ptr, out_ptr, k, N: tl.constexpr, BLOCK_K: tl.constexpr):
    """(a b) c in one loop over b's columns and c's rows: the first dot feeds the second."""
    i = tl.arange(0, N)
    steps = tl.arange(0, BLOCK_K)
    a = tl.load(a_ptr + i[:, None] * N + i[None, :])
    total = tl.zeros((N, N), dtype=tl.float32)
    for start in range(0, k, BLOCK_K):
        b = tl.load(b_ptr + i[:, None] * k + (start + steps)[None, :])
        c = tl.load(c_ptr + (start + steps)[:, None] * N + i[None, :])
        middle = tl.dot(a, b)
        total = tl.dot(middle.to(c.dtype), c, total * 0.5)
    tl.store(out_ptr + i[:, None] * N + i[None, :], total)


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("size", [32, 64, 128])
@pytest.mark.parametrize("iterations", [0, 1, 4])
def test_dots_in_sequence(iterations, size, warps, stages, device):
    k = 64 * iterations
    a, b, c = (rand(s, torch.float16, device) / 8 for s in ((size, size), (size, k), (k, size)))
    out = torch.full((size, size), 77.0, device=device)
    two_products_kernel[(1,)](a, b, c, out, k, size, 64, num_warps=warps, num_stages=stages)
    want = torch.zeros(size, size, dtype=torch.float64, device=device)
    for start in range(0, k, 64):
        middle = (a.double() @ b[:, start : start + 64].double()).half().double()
        want = want * 0.5 + middle @ c[start : start + 64].double()
    check(out, want, 1e-3)


@triton.jit
def chained_kernel(
    a_ptr, b_ptr, c_ptr, out_ptr, k, c_row, c_column,
    N: tl.constexpr, BLOCK_K: tl.constexpr, PRECISION: tl.constexpr, IS_BARE: tl.constexpr,
):  # fmt: skip
    """Sums are first operands: of the iteration's second dot, and of the next iteration's first."""
    i = tl.arange(0, N)
    steps = tl.arange(0, BLOCK_K)
    x = tl.load(a_ptr + i[:, None] * N + i[None, :])
    for start in range(0, k, BLOCK_K):
        b = tl.load(b_ptr + i[:, None] * k + (start + steps)[None, :])
        c = tl.load(c_ptr + (start + steps)[:, None] * c_row + i[None, :] * c_column)
        middle = tl.dot(x, b, input_precision=PRECISION)
        if IS_BARE:
            x = tl.dot(middle, c, input_precision=PRECISION)
        else:
            x = tl.dot(tl.maximum(middle, 0.0), c, input_precision=PRECISION) * 0.5
    tl.store(out_ptr + i[:, None] * N + i[None, :], x)


def run_chained(size, iterations, along_k, is_bare, precision, warps, stages, device):
    block = 32
    k = block * iterations
    a, b, c = (rand(s, torch.float32, device) for s in ((size, size), (size, k), (k, size)))
    c = c.T.contiguous().T if along_k else c
    out = torch.full((size, size), 77.0, device=device)
    chained_kernel[(1,)](a, b, c, out, k, *c.stride(), size, block, precision, is_bare,
                         num_warps=warps, num_stages=stages)  # fmt: skip
    want = a.double()
    for start in range(0, k, block):
        middle = want @ b[:, start : start + block].double()
        middle = middle if is_bare else middle.clamp(min=0) * 0.5
        want = middle @ c[start : start + block].double()
    check(out, want, {"tf32": 8e-3, "tf32x3": 4e-5}[precision])


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("is_bare", [False, True])
@pytest.mark.parametrize("along_k", [False, True])
@pytest.mark.parametrize("size", [16, 32, 64, 128])
@pytest.mark.parametrize("precision", ["tf32", "tf32x3"])
def test_sums_as_operands(precision, size, along_k, is_bare, warps, stages, device):
    run_chained(size, 3, along_k, is_bare, precision, warps, stages, device)


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_infinity_in_the_second_dot(stages, device):
    """No product of zero and infinity that the kernel did not ask for."""
    size, k = 64, 128
    a = torch.eye(size, device=device, dtype=torch.float16)
    b = torch.ones(size, k, device=device, dtype=torch.float16)
    c = torch.ones(k, size, device=device, dtype=torch.float16)
    c[:, 3] = float("inf")
    out = torch.full((size, size), 77.0, device=device)
    two_products_kernel[(1,)](a, b, c, out, k, size, 64, num_warps=4, num_stages=stages)
    want = torch.full((size, size), 96.0, device=device)
    want[:, 3] = float("inf")
    assert torch.equal(out, want)


@triton.jit
def persistent_kernel(
    a_ptr, b_ptr, c_ptr, m, n, k,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    across = tl.cdiv(n, BLOCK_N)
    for tile in range(tl.program_id(0), tl.cdiv(m, BLOCK_M) * across, tl.num_programs(0)):
        rows = tile // across * BLOCK_M + tl.arange(0, BLOCK_M)
        columns = tile % across * BLOCK_N + tl.arange(0, BLOCK_N)
        total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for start in range(0, k, BLOCK_K):
            steps = start + tl.arange(0, BLOCK_K)
            a = tl.load(a_ptr + rows[:, None] * k + steps[None, :])
            b = tl.load(b_ptr + steps[:, None] * n + columns[None, :])
            total = tl.dot(a, b, total)
        tl.store(c_ptr + rows[:, None] * n + columns[None, :], total.to(tl.float16))


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize("warps", [4, 8])
def test_loop_in_a_loop(warps, stages, device):
    m, n, k = 512, 512, 192
    a, b = rand((m, k), torch.float16, device), rand((k, n), torch.float16, device)
    c = torch.full((m, n), 77, device=device, dtype=torch.float16)
    persistent_kernel[(5,)](a, b, c, m, n, k, 64, 128, 64, num_warps=warps, num_stages=stages)
    check(c, a.double() @ b.double(), 1e-3)


@triton.jit
def scaled_kernel(a_ptr, b_ptr, s_ptr, c_ptr, k, N: tl.constexpr, BLOCK_K: tl.constexpr):
    """The second operand is computed in the loop: bytes, cast and scaled."""
    i = tl.arange(0, N)
    total = tl.zeros((N, N), dtype=tl.float32)
    for start in range(0, k, BLOCK_K):
        steps = start + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + i[:, None] * k + steps[None, :])
        b = tl.load(b_ptr + steps[:, None] * N + i[None, :])
        s = tl.load(s_ptr + steps)
        total = tl.dot(a, b.to(tl.float16) * s[:, None], total)
    tl.store(c_ptr + i[:, None] * N + i[None, :], total)


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("size", [32, 64, 128])
def test_computed_operand(size, warps, stages, device):
    k = 256
    a, b = rand((size, k), torch.float16, device), rand((k, size), torch.int8, device)
    s = rand((k,), torch.float16, device)
    out = torch.full((size, size), 77.0, device=device)
    scaled_kernel[(1,)](a, b, s, out, k, size, 64, num_warps=warps, num_stages=stages)
    scaled = (b.half() * s[:, None]).double()
    check(out, a.double() @ scaled, 6e-6)


def test_no_iterations(device):
    a, b = rand((64, 32), torch.float16, device), rand((32, 64), torch.float16, device)
    c = torch.full((64, 64), 77, device=device, dtype=torch.float32)
    matmul_kernel[(1, 1)](a, b, c, 64, 64, 0, *a.stride(), *b.stride(), 64, 64, 32, False, "ieee",
                          num_stages=4)  # fmt: skip
    assert (c == 0).all()


@triton.jit
def added_kernel(a_ptr, b_ptr, out_ptr, twice_ptr, k, N: tl.constexpr, BLOCK_K: tl.constexpr):
    """Dots that are added by `+`: before, behind, to each other, and one that is needed alone."""
    i = tl.arange(0, N)
    steps = tl.arange(0, BLOCK_K)
    total = tl.zeros((N, N), dtype=out_ptr.dtype.element_ty)
    twice = tl.zeros((N, N), dtype=out_ptr.dtype.element_ty)
    for start in range(0, k, BLOCK_K):
        a = tl.load(a_ptr + i[:, None] * k + (start + steps)[None, :])
        b = tl.load(b_ptr + i[None, :] * k + (start + steps)[:, None])
        alone = tl.dot(a, b)
        total += tl.dot(a, b)
        total = tl.dot(a, b) + total
        total += tl.dot(a, b) + tl.dot(a, b)
        total += alone
        twice = twice * 2 + tl.dot(a, b)
        twice += alone
    out = i[:, None] * N + i[None, :]
    tl.store(out_ptr + out, total)
    tl.store(twice_ptr + out, twice)


@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("iterations", [0, 1, 3])
@pytest.mark.parametrize("dtype", [torch.float16, torch.int8, torch.float8_e4m3fn])
def test_dots_that_are_added(dtype, iterations, warps, stages, device):
    run_added(dtype, iterations, warps, stages, 64, device)


def run_added(dtype, iterations, warps, stages, size, device):
    k = 32 * iterations
    a, b = (torch.randint(-2, 3, (size, k), device=device).to(dtype) for _ in range(2))
    out_dtype = torch.int32 if dtype == torch.int8 else torch.float32
    total, twice = (torch.full((size, size), 77, dtype=out_dtype, device=device) for _ in range(2))
    added_kernel[(1,)](a, b, total, twice, k, size, 32, num_warps=warps, num_stages=stages)
    want = torch.zeros(size, size, dtype=torch.float64, device=device)
    doubled = want.clone()
    for start in range(0, k, 32):
        one = a[:, start : start + 32].double() @ b[:, start : start + 32].double().T
        want += 5 * one
        doubled = doubled * 2 + 2 * one
    assert torch.equal(total.double(), want)  # small integers: every order gives the same
    assert torch.equal(twice.double(), doubled)


@triton.jit
def lying_kernel(
    a_ptr, b_ptr, c_ptr, m, n, k, a_row, a_col, b_row, b_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    TRANS: tl.constexpr,
):  # fmt: skip
    """Operands that lie along either dimension; with TRANS b is loaded as it lies in memory."""
    rows, columns, steps = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_K)
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=c_ptr.dtype.element_ty)
    for start in range(0, k, BLOCK_K):
        at = start + steps
        a = tl.load(
            a_ptr + rows[:, None] * a_row + at[None, :] * a_col,
            mask=(rows < m)[:, None] & (at < k)[None, :],
        )
        if TRANS:
            b = tl.load(
                b_ptr + columns[:, None] * b_col + at[None, :] * b_row,
                mask=(columns < n)[:, None] & (at < k)[None, :],
            ).T
        else:
            b = tl.load(
                b_ptr + at[:, None] * b_row + columns[None, :] * b_col,
                mask=(at < k)[:, None] & (columns < n)[None, :],
            )
        total += tl.dot(a, b)
    c = rows[:, None] * n + columns[None, :]
    tl.store(c_ptr + c, total, mask=(rows < m)[:, None] & (columns < n)[None, :])


def run_lying(dtype, lies, trans, sizes, blocks, warps, stages, device):
    """`lies` says of a and of b whether they lie along K; k of `sizes` may end inside a tile."""
    m, n, k = sizes
    room = max(k, 1)
    a = torch.randint(-2, 3, (m, room), device=device).to(dtype)
    b = torch.randint(-2, 3, (room, n), device=device).to(dtype)
    a = a if lies[0] else a.T.contiguous().T
    b = b.T.contiguous().T if lies[1] else b
    out_dtype = torch.int32 if dtype == torch.int8 else torch.float32
    c = torch.full((m, n), 77, dtype=out_dtype, device=device)
    lying_kernel[(1,)](
        a, b, c, m, n, k, *a.stride(), *b.stride(), *blocks, trans, num_warps=warps,
        num_stages=stages,
    )  # fmt: skip
    assert torch.equal(c.double(), a[:, :k].double() @ b[:k].double())


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("k", [0, 64, 128, 304])
@pytest.mark.parametrize("trans", [False, True])
@pytest.mark.parametrize("lies", [(True, True), (True, False), (False, True), (False, False)])
@pytest.mark.parametrize("blocks", [(64, 64, 64), (128, 256, 64), (64, 16, 128), (16, 64, 32)])
@pytest.mark.parametrize("dtype", [torch.int8, torch.float8_e4m3fn, torch.float32, torch.float16])
def test_operands_that_lie_along_either_dimension(
    dtype, blocks, lies, trans, k, warps, stages, device
):
    sizes = (blocks[0] - 16 * (blocks[0] > 16), blocks[1], k)
    run_lying(dtype, lies, trans, sizes, blocks, warps, stages, device)


@triton.jit
def staged_kernel(
    a_ptr, b_ptr, out_ptr, k, N: tl.constexpr, BLOCK_K: tl.constexpr, FORM: tl.constexpr
):
    """Operands that are computed in the loop go through shared memory: some of them twice, some of
    them where others have been."""
    i = tl.arange(0, N)
    steps = tl.arange(0, BLOCK_K)
    total = tl.zeros((N, N), dtype=tl.float32)
    for start in range(0, k, BLOCK_K):
        a = tl.load(a_ptr + i[:, None] * k + (start + steps)[None, :])
        b = tl.load(b_ptr + (start + steps)[:, None] * N + i[None, :])
        twice = (b + b).to(b.dtype)
        first = tl.dot(a, twice)
        second = tl.dot((a + 1).to(a.dtype), twice)
        small = ((first + second) * 0.125).to(b.dtype)
        third = tl.dot(b.T, (b * 2).to(b.dtype))
        if FORM == 1:
            total += tl.dot(small, (third * 0.125).to(b.dtype))
        else:
            total += tl.dot((third * 0.125).to(b.dtype), small) + tl.dot(a, b)
    tl.store(out_ptr + i[:, None] * N + i[None, :], total)


def run_staged(form, dtype, iterations, warps, stages, size, device):
    k = 32 * iterations
    a = (4 * torch.randint(-1, 2, (size, k), device=device)).to(dtype)
    b = (4 * torch.randint(-1, 2, (k, size), device=device)).to(dtype)
    out = torch.full((size, size), 77.0, device=device)
    kernel = staged_kernel[(1,)](a, b, out, k, size, 32, form, num_warps=warps, num_stages=stages)
    want = torch.zeros(size, size, dtype=torch.float64, device=device)
    for start in range(0, k, 32):
        left, right = a[:, start : start + 32].double(), b[start : start + 32].double()
        small = ((left @ right * 2 + (left + 1) @ right * 2) * 0.125).to(dtype).double()
        third = (right.T @ right * 2 * 0.125).to(dtype).double()
        want += small @ third if form == 1 else third @ small + left @ right
    check(out, want, 2e-3)
    return kernel


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("iterations", [0, 1, 3])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize("form", [1, 2])
def test_staged_operands(form, dtype, iterations, warps, stages, device):
    run_staged(form, dtype, iterations, warps, stages, 64, device)


# -- operands that were cast to fp32 ---------------------------------------------------------------


@triton.jit
def cast_kernel(a_ptr, b_ptr, out_ptr, k, N: tl.constexpr, PRECISION: tl.constexpr):
    i = tl.arange(0, N)
    total = tl.zeros((N, N), dtype=tl.float32)
    for start in range(0, k, N):
        a = tl.load(a_ptr + i[:, None] * k + (start + i)[None, :]).to(tl.float32)
        b = tl.load(b_ptr + i[:, None] * k + (start + i)[None, :]).to(tl.float32)
        total += tl.dot(a, tl.trans(b), input_precision=PRECISION)
    tl.store(out_ptr + i[:, None] * N + i[None, :], total)


def run_cast(dtypes, precision, size, device):
    a, b = (rand((size, 2 * size), dtype, device) for dtype in dtypes)
    out = torch.full((size, size), 77.0, device=device)
    kernel = cast_kernel[(1,)](a, b, out, 2 * size, size, precision)
    check(out, a.double() @ b.double().T, 6e-6)
    return kernel


@pytest.mark.parametrize("precision", ["ieee", "tf32", "tf32x3", "bf16x3"])
@pytest.mark.parametrize("size", [16, 64])
@pytest.mark.parametrize("second", [torch.float16, torch.bfloat16, torch.float8_e5m2])
@pytest.mark.parametrize("first", [torch.float16, torch.bfloat16, torch.float8_e5m2])
def test_operands_cast_to_fp32(first, second, size, precision, device):
    run_cast((first, second), precision, size, device)


# -- what a load gives where its mask is false, from a dot -----------------------------------------


@triton.jit
def other_kernel(a_ptr, x_ptr, flag_ptr, out_ptr, n):
    at = tl.arange(0, 8).reshape(4, 2)
    for i in range(n):
        a = (tl.load(a_ptr + tl.arange(0, 64).reshape(4, 16)) + i).to(tl.float16)
        product = tl.dot(a, tl.full([16, 2], 1, tl.float16), out_dtype=tl.float16)
        x = tl.load(x_ptr + i * 8 + at, mask=tl.load(flag_ptr + at) > 0, other=product)
        x = tl.load(x_ptr + i * 8 + at, mask=at < 6, other=x)
        tl.store(out_ptr + i * 8 + at, x)


def run_other(stages, device):
    a = torch.randint(-3, 4, (4, 16), device=device)
    x = rand((5, 4, 2), torch.float16, device)
    flag = torch.tensor([0, 1, 1, 0, 0, 0, 1, 0], device=device).reshape(4, 2)
    out = torch.full((5, 4, 2), 77, dtype=torch.float16, device=device)
    other_kernel[(1,)](a.int(), x, flag.int(), out, 5, num_stages=stages)
    for i in range(5):
        product = (a + i).sum(1, keepdim=True).expand(4, 2).half().clone()
        product[:3] = x[i, :3]
        assert torch.equal(out[i], torch.where(flag > 0, x[i], product))


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_other_from_a_dot(stages, device):
    run_other(stages, device)
