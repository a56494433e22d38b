"""Tensor descriptors on the GPU: dots, copies at the edges of tensors and beyond, clipped
stores, loops in loops, and tensors that TMA cannot copy. References are torch's, in float64.
"""

import blockscope as triton
import blockscope.language as tl
import pytest
from blockscope.tools.tensor_descriptor import TensorDescriptor
from test_dot import check, rand

torch = pytest.importorskip("torch")

FP8 = torch.float8_e4m3fn


# -- dots ------------------------------------------------------------------------------------------


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, TRANS: tl.constexpr, ACC: tl.constexpr,
):  # fmt: skip
    """TRANS: b is N by K in memory."""
    a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    if TRANS:
        b_desc = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [BN, BK])
    else:
        b_desc = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [BK, BN])
    c_desc = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN])
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), ACC)
    for k in range(0, K, BK):
        a = a_desc.load([m, k])
        if TRANS:
            b = b_desc.load([n, k]).T
        else:
            b = b_desc.load([k, n])
        acc = tl.dot(a, b, acc, out_dtype=ACC)
    c_desc.store([m, n], acc.to(c_desc.dtype))


@triton.jit
def host_matmul_kernel(a_desc, b_desc, c_desc, K, BM: tl.constexpr, BN: tl.constexpr,
                       BK: tl.constexpr):  # fmt: skip
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(a_desc.load([m, k]), b_desc.load([k, n]), acc)
    c_desc.store([m, n], acc.to(tl.float16))


@triton.jit
def persistent_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr,
                      BK: tl.constexpr):  # fmt: skip
    """Each program computes several tiles, one after another."""
    a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    b_desc = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [BK, BN])
    c_desc = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN])
    columns = tl.cdiv(N, BN)
    for tile in range(tl.program_id(0), tl.cdiv(M, BM) * columns, tl.num_programs(0)):
        m, n = tile // columns * BM, tile % columns * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            acc = tl.dot(a_desc.load([m, k]), b_desc.load([k, n]), acc)
        c_desc.store([m, n], acc.to(tl.float16))


@triton.jit
def mixed_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr,
                 BK: tl.constexpr):  # fmt: skip
    """One operand by a descriptor, the other by pointers."""
    a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    columns = n + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rows = k + tl.arange(0, BK)
        inside = (rows < K)[:, None] & (columns < N)[None, :]
        b = tl.load(b_ptr + rows[:, None] * N + columns[None, :], inside, 0.0)
        acc = tl.dot(a_desc.load([m, k]), b, acc)
    rows = m + tl.arange(0, BM)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc.to(tl.float16), inside)


@triton.jit
def block_pointer_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr,
                         BK: tl.constexpr):  # fmt: skip
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    a = tl.make_block_ptr(a_ptr, (M, K), (K, 1), (m, 0), (BM, BK), (1, 0))
    b = tl.make_block_ptr(b_ptr, (K, N), (N, 1), (0, n), (BK, BN), (1, 0))
    c = tl.make_block_ptr(c_ptr, (M, N), (N, 1), (m, n), (BM, BN), (1, 0))
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        left = tl.load(a, boundary_check=(0, 1), padding_option="zero")
        acc = tl.dot(left, tl.load(b, boundary_check=(0, 1), padding_option="zero"), acc)
        a, b = tl.advance(a, (0, BK)), tl.advance(b, (BK, 0))
    tl.store(c, acc.to(tl.float16), boundary_check=(0, 1))


@triton.jit
def two_loops_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr,
                     BK: tl.constexpr):  # fmt: skip
    """K in two parts, with a branch and a buffer in shared memory between them."""
    a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    b_desc = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [BK, BN])
    c_desc = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN])
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    half = K // 2 // BK * BK
    for k in range(0, half, BK):
        acc = tl.dot(a_desc.load([m, k]), b_desc.load([k, n]), acc)
    acc = tl.trans(tl.trans(acc) * 2.0) * 0.5
    if half < K:
        for k in range(half, K, BK):
            acc = tl.dot(a_desc.load([m, k]), b_desc.load([k, n]), acc)
    c_desc.store([m, n], acc.to(tl.float16))


@triton.jit
def first_operand_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr,
                         BK: tl.constexpr):  # fmt: skip
    """One block of a, loaded once, times all of b; K is BK."""
    a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    b_desc = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [BK, BN])
    c_desc = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN])
    m = tl.program_id(0) * BM
    a = a_desc.load([m, 0])
    for n in range(0, N, BN):
        c_desc.store([m, n], tl.dot(a, b_desc.load([0, n])).to(tl.float16))


def run_matmul(kernel, shape, tile, device, warps=4, stages=3, grid=None):
    (m, n, k), (bm, bn, bk) = shape, tile
    a, b = rand((m, k), torch.float16, device), rand((k, n), torch.float16, device)
    c = torch.full((m, n), 7.0, device=device, dtype=torch.float16)
    grid = grid or (triton.cdiv(m, bm), triton.cdiv(n, bn))
    kernel[grid](a, b, c, m, n, k, bm, bn, bk, num_warps=warps, num_stages=stages)
    check(c, a.double() @ b.double(), 1e-3)


def run_typed_matmul(dtype, shape, tile, trans, device, warps=4, stages=3):
    (m, n, k), (bm, bn, bk) = shape, tile
    a = rand((m, k), dtype, device)
    b = rand((n, k) if trans else (k, n), dtype, device)
    out = torch.int32 if dtype == torch.int8 else torch.float32
    c = torch.full((m, n), 7, device=device, dtype=out)
    acc = tl.int32 if dtype == torch.int8 else tl.float32
    grid = (triton.cdiv(m, bm), triton.cdiv(n, bn))
    matmul_kernel[grid](
        a, b, c, m, n, k, bm, bn, bk, trans, acc, num_warps=warps, num_stages=stages
    )
    want = a.double() @ (b.double().T if trans else b.double())
    if dtype == torch.int8:
        assert torch.equal(c.double(), want)
    else:
        check(c, want, {torch.float32: 3e-3, FP8: 5e-3}.get(dtype, 1e-5))


TYPED = [
    (torch.float16, (144, 144, 208), (64, 64, 64), False),
    (torch.bfloat16, (80, 96, 64), (64, 64, 32), False),
    (torch.float16, (96, 80, 80), (64, 64, 32), True),
    (torch.float32, (80, 80, 112), (64, 64, 32), False),
    (torch.float32, (72, 80, 48), (64, 32, 16), True),
    (torch.int8, (80, 96, 112), (64, 64, 64), True),
    (torch.int8, (80, 96, 112), (64, 64, 32), False),
    (FP8, (80, 96, 112), (64, 64, 64), True),
    (FP8, (80, 96, 112), (64, 64, 32), False),
]


@pytest.mark.parametrize("stages", [1, 2, 4])
@pytest.mark.parametrize("dtype,shape,tile,trans", TYPED)
def test_matmul(dtype, shape, tile, trans, stages, device):
    run_typed_matmul(dtype, shape, tile, trans, device, stages=stages)


@pytest.mark.parametrize("size", [512, 1000, 1024])
def test_matmul_of_large_tiles(size, device):
    run_typed_matmul(torch.float16, (size, size, size), (128, 256, 64), False, device, warps=8)


def run_host_matmul(shape, tile, device, warps=4):
    (m, n, k), (bm, bn, bk) = shape, tile
    a, b = rand((m, k), torch.float16, device), rand((k, n), torch.float16, device)
    c = torch.full((m, n), 7.0, device=device, dtype=torch.float16)
    descriptors = [
        TensorDescriptor.from_tensor(tensor, block)
        for tensor, block in ((a, [bm, bk]), (b, [bk, bn]), (c, [bm, bn]))
    ]
    grid = (triton.cdiv(m, bm), triton.cdiv(n, bn))
    host_matmul_kernel[grid](*descriptors, k, bm, bn, bk, num_warps=warps)
    check(c, a.double() @ b.double(), 1e-3)


@pytest.mark.parametrize("shape", [(128, 128, 128), (144, 80, 208), (16, 16, 16), (1040, 528, 72)])
def test_matmul_with_descriptors_of_the_host(shape, device):
    run_host_matmul(shape, (64, 64, 32), device)


@triton.jit
def symmetric_kernel(low_desc, high_desc, a_desc, c_desc, K, B: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    if m < n:
        return
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(a_desc.load([m, k]), a_desc.load([n, k]).T, acc)
    acc += c_desc.load([m, n]).to(tl.float32)
    low_desc.store([m, n], acc.to(tl.float16))
    high_desc.store([n, m], (acc + 1).to(tl.float16).T)


def run_symmetric(n, k, device, separate=False, tile=64):
    """Two descriptors of one tensor, or of two; tiles of the diagonal are stored by both."""
    a, c = rand((n, k), torch.float16, device), rand((n, n), torch.float16, device)
    low = torch.zeros((n, n), device=device, dtype=torch.float16)
    high = torch.zeros_like(low) if separate else low
    square = [tile, tile]
    descriptors = [
        TensorDescriptor.from_tensor(tensor, block)
        for tensor, block in ((low, square), (high, square), (a, [tile, 32]), (c, square))
    ]
    symmetric_kernel[(triton.cdiv(n, tile),) * 2](*descriptors, k, tile, 32)
    want = a.double() @ a.double().T + c.double()
    place = torch.arange(n, device=device) // tile
    is_high = place[:, None] <= place[None]
    check(torch.where(is_high, high, low), torch.where(is_high, want.T + 1, want), 1e-2)


@pytest.mark.parametrize("separate", [False, True])
@pytest.mark.parametrize("n,k,tile", [(64, 32, 64), (144, 96, 64), (1040, 208, 128)])
def test_two_descriptors_of_one_tensor(n, k, tile, separate, device):
    run_symmetric(n, k, device, separate, tile)


@pytest.mark.parametrize("stages", [2, 3])
@pytest.mark.parametrize("programs", [1, 3])
@pytest.mark.parametrize("shape", [(144, 144, 112), (128, 192, 16), (64, 64, 256)])
def test_loop_in_a_loop(shape, programs, stages, device):
    run_matmul(persistent_kernel, shape, (64, 64, 32), device, 4, stages, (programs,))


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_descriptor_and_pointers_in_one_loop(stages, device):
    run_matmul(mixed_kernel, (144, 96, 80), (64, 64, 32), device, 4, stages)


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("kernel", [block_pointer_kernel, two_loops_kernel])
@pytest.mark.parametrize("shape", [(144, 96, 80), (64, 64, 192), (16, 16, 32), (80, 80, 16)])
def test_other_loops(kernel, shape, stages, device):
    run_matmul(kernel, shape, (64, 64, 32), device, 4, stages)


@pytest.mark.parametrize("shape", [(144, 96, 64), (64, 256, 48), (16, 16, 32)])
def test_first_operand_of_a_loop(shape, device):
    run_matmul(first_operand_kernel, shape, (64, 64, 64), device, grid=(-(-shape[0] // 64),))


def test_launches_with_other_tensors(device):
    """The maps of one kernel are encoded anew for other addresses and sizes."""
    for shape in ((64, 64, 64), (64, 64, 64), (192, 128, 96), (80, 64, 48), (64, 64, 64)):
        run_typed_matmul(torch.float16, shape, (64, 64, 32), False, device)


# -- attention -------------------------------------------------------------------------------------


@triton.jit
def attention_kernel(q_ptr, k_ptr, v_ptr, out_ptr, Z, L, scale, D: tl.constexpr,
                     BM: tl.constexpr, BN: tl.constexpr):  # fmt: skip
    """All heads are one tall matrix, as in the tutorial."""
    rows = Z * L
    q_desc = tl.make_tensor_descriptor(q_ptr, [rows, D], [D, 1], [BM, D])
    k_desc = tl.make_tensor_descriptor(k_ptr, [rows, D], [D, 1], [BN, D])
    v_desc = tl.make_tensor_descriptor(v_ptr, [rows, D], [D, 1], [BN, D])
    out_desc = tl.make_tensor_descriptor(out_ptr, [rows, D], [D, 1], [BM, D])
    head = tl.program_id(1) * L
    first = head + tl.program_id(0) * BM
    q = q_desc.load([first, 0])
    largest = tl.full([BM], float("-inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    for n in range(0, L, BN):
        scores = tl.dot(q, k_desc.load([head + n, 0]).T) * (scale * 1.44269504)
        new = tl.maximum(largest, tl.max(scores, 1))
        weights = tl.exp2(scores - new[:, None])
        shrink = tl.exp2(largest - new)
        total = total * shrink + tl.sum(weights, 1)
        acc = tl.dot(weights.to(tl.float16), v_desc.load([head + n, 0]), acc * shrink[:, None])
        largest = new
    out_desc.store([first, 0], (acc / total[:, None]).to(tl.float16))


def run_attention(heads, length, size, block_m, block_n, device, warps=4, stages=3):
    q, k, v = (rand((heads, length, size), torch.float16, device) for _ in range(3))
    out = torch.full_like(q, 7)
    grid = (length // block_m, heads)
    attention_kernel[grid](
        q, k, v, out, heads, length, size**-0.5, size, block_m, block_n,
        num_warps=warps, num_stages=stages,
    )  # fmt: skip
    scores = q.double() @ k.double().transpose(1, 2) * size**-0.5
    check(out, torch.softmax(scores, 2) @ v.double(), 4e-3)


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("size", [32, 64, 128])
def test_attention(size, stages, device):
    run_attention(2, 256, size, 64, 64, device, 4, stages)
    run_attention(1, 512, size, 128, 64, device, 8, stages)


@triton.jit
def heads_kernel(q_ptr, k_ptr, out_ptr, Z, H, L, D: tl.constexpr, BM: tl.constexpr,
                 BN: tl.constexpr):  # fmt: skip
    """(q k^T) k, with batch and head as dimensions of their own."""
    q_desc = tl.make_tensor_descriptor(q_ptr, [Z, H, L, D], [H * L * D, L * D, D, 1], [1, 1, BM, D])
    k_desc = tl.make_tensor_descriptor(k_ptr, [Z, H, L, D], [H * L * D, L * D, D, 1], [1, 1, BN, D])
    out_desc = tl.make_tensor_descriptor(
        out_ptr, [Z, H, L, D], [H * L * D, L * D, D, 1], [1, 1, BM, D]
    )
    z, h, m = tl.program_id(1) // H, tl.program_id(1) % H, tl.program_id(0) * BM
    q = q_desc.load([z, h, m, 0]).reshape(BM, D)
    acc = tl.zeros([BM, D], tl.float32)
    for n in range(0, L, BN):
        k = k_desc.load([z, h, n, 0]).reshape(BN, D)
        acc = tl.dot((tl.dot(q, k.T) * 0.125).to(tl.float16), k, acc)
    out_desc.store([z, h, m, 0], (acc * 0.125).to(tl.float16).reshape(1, 1, BM, D))


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("shape", [(2, 2, 96, 64), (1, 3, 64, 32)])
def test_heads(shape, stages, device):
    q, k = (rand(shape, torch.float16, device) for _ in range(2))
    out = torch.full_like(q, 7)
    z, h, length, size = shape
    grid = (triton.cdiv(length, 64), z * h)
    heads_kernel[grid](q, k, out, z, h, length, size, 64, 32, num_stages=stages)
    scores = (q.double() @ k.double().transpose(2, 3) * 0.125).half().double()
    check(out, scores @ k.double() * 0.125, 4e-3)


# -- copies ----------------------------------------------------------------------------------------


@triton.jit
def copy_1d(x_ptr, y_ptr, n, first, to, B: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [n], [1], [B])
    y = tl.make_tensor_descriptor(y_ptr, [n], [1], [B])
    y.store([to], x.load([first]))


@triton.jit
def copy_2d(x_ptr, y_ptr, m, n, stride, i, j, to_i, to_j, BM: tl.constexpr, BN: tl.constexpr,
            PADDING: tl.constexpr):  # fmt: skip
    x = tl.make_tensor_descriptor(x_ptr, [m, n], [stride, 1], [BM, BN], PADDING)
    y = tl.make_tensor_descriptor(y_ptr, [m, n], [stride, 1], [BM, BN])
    y.store([to_i, to_j], x.load([i, j]))


@triton.jit
def copy_3d(x_ptr, y_ptr, l, m, n, i, j, k, BL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [l, m, n], [m * n, n, 1], [BL, BM, BN])
    y = tl.make_tensor_descriptor(y_ptr, [l, m, n], [m * n, n, 1], [BL, BM, BN])
    y.store([i, j, k], x.load([i, j, k]))


def window(tensor, first, block, padding=0):
    """The block that begins at `first`, with padding outside of the tensor."""
    result = torch.full(block, padding, dtype=tensor.dtype, device=tensor.device)
    inside, source = [], []
    for start, side, size in zip(first, block, tensor.shape, strict=True):
        low, high = max(start, 0), min(start + side, size)
        inside.append(slice(low - start, max(high, low) - start))
        source.append(slice(low, max(high, low)))
    result[tuple(inside)] = tensor[tuple(source)]
    return result


def place(tensor, first, block):
    """Writes a block into the tensor, clipped."""
    inside, target = [], []
    for start, side, size in zip(first, block.shape, tensor.shape, strict=True):
        low, high = max(start, 0), min(start + side, size)
        inside.append(slice(low - start, max(high, low) - start))
        target.append(slice(low, max(high, low)))
    tensor[tuple(target)] = block[tuple(inside)]


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.int8])
@pytest.mark.parametrize(
    "n,first,to,block",
    [(256, 0, 0, 64), (250, 200, 10, 64), (250, -20, 220, 64), (1000, 300, -100, 512),
     (64, 64, 0, 64), (64, 1 << 30, 0, 64), (64, -64, -64, 64)],
)  # fmt: skip
def test_copy_1d(n, first, to, block, dtype, device):
    x, y = rand((n,), dtype, device), rand((n,), dtype, device)
    want = y.clone()
    place(want, (to,), window(x, (first,), (block,)))
    copy_1d[1,](x, y, n, first, to, block)
    assert torch.equal(y, want)


#: Rows, columns, elements from row to row, the block's start in x and in y, the block.
COPIES_2D = [
    (128, 128, 128, (0, 0), (0, 0), (64, 64)),
    (100, 72, 80, (60, 40), (70, 50), (64, 32)),
    (100, 72, 80, (-10, -3), (5, 7), (64, 64)),
    (100, 72, 80, (99, 71), (-63, -31), (64, 32)),
    (100, 72, 80, (100, 0), (0, 0), (32, 32)),
    (33, 256, 256, (1, 0), (0, 0), (16, 256)),
    (40, 48, 48, (3, 5), (3, 5), (8, 16)),
    (20, 16, 16, (3, 0), (1, 0), (4, 16)),
    (600, 16, 16, (3, 0), (80, 0), (512, 16)),
    (70, 67, 80, (0, 0), (0, 0), (64, 128)),
    (70, 3, 16, (0, 0), (6, 0), (64, 16)),
]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.int32])
@pytest.mark.parametrize("m,n,stride,first,to,block", COPIES_2D)
def test_copy_2d(m, n, stride, first, to, block, dtype, device):
    run_copy_2d(m, n, stride, first, to, block, dtype, "zero", device)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.float64, torch.int64])
@pytest.mark.parametrize("m,n,stride,first,to,block", COPIES_2D[:3])
def test_copy_2d_of_other_sizes(m, n, stride, first, to, block, dtype, device):
    run_copy_2d(m, n, stride, first, to, block, dtype, "zero", device)


def test_copy_with_nan_as_padding(device):
    run_copy_2d(100, 72, 80, (60, 40), (70, 50), (64, 32), torch.float32, "nan", device)


def run_copy_2d(m, n, stride, first, to, block, dtype, padding, device):
    whole = rand((m, stride), torch.float32, device).to(dtype)
    x, y = whole[:, :n], torch.full((m, stride), 7, dtype=dtype, device=device)
    want = y.clone()  # what lies between the rows stays as it is
    place(want[:, :n], to, window(x, first, block, float("nan") if padding == "nan" else 0))
    copy_2d[1,](x, y, m, n, stride, *first, *to, *block, padding)
    assert torch.equal(y.nan_to_num(123) if padding == "nan" else y,
                       want.nan_to_num(123) if padding == "nan" else want)  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize(
    "shape,first,block",
    [((8, 32, 64), (2, 8, 16), (2, 16, 32)), ((5, 20, 80), (3, 10, 40), (4, 16, 64)),
     ((5, 20, 80), (-1, -2, -3), (2, 8, 128)), ((3, 40, 16), (0, 0, 0), (4, 64, 16))],
)  # fmt: skip
def test_copy_3d(shape, first, block, dtype, device):
    x, y = rand(shape, dtype, device), torch.zeros(shape, dtype=dtype, device=device)
    want = y.clone()
    place(want, first, window(x, first, block))
    copy_3d[1,](x, y, *shape, *first, *block)
    assert torch.equal(y, want)


# -- order of memory, and what TMA cannot do -------------------------------------------------------


@triton.jit
def store_then_load(x_ptr, y_ptr, out_ptr, n, B: tl.constexpr):
    """Reads by pointers what was stored by a descriptor, then by a descriptor what was stored by
    pointers. What is stored first is turned: threads that hold whole rows store them themselves."""
    x = tl.make_tensor_descriptor(x_ptr, [B, n], [n, 1], [B, B])
    y = tl.make_tensor_descriptor(y_ptr, [B, n], [n, 1], [B, B])
    out = tl.make_tensor_descriptor(out_ptr, [B, n], [n, 1], [B, B])
    rows, columns = tl.arange(0, B)[:, None], tl.arange(0, B)[None, :]
    y.store([0, 0], tl.trans(x.load([0, 0]) + 1.0))
    tl.debug_barrier()
    block = tl.load(y_ptr + columns * n + rows)
    tl.debug_barrier()
    tl.store(y_ptr + rows * n + columns, block * 2.0)
    tl.debug_barrier()
    out.store([0, 0], y.load([0, 0]))


def test_order_of_memory(device):
    x = rand((64, 64), torch.float32, device)
    y, out = torch.zeros_like(x), torch.zeros_like(x)
    store_then_load[1,](x, y, out, 64, 64)
    assert torch.equal(y, (x + 1) * 2)
    assert torch.equal(out, y)


def test_a_tensor_without_elements(device):
    """No map has a size of 0: the kernel runs without TMA."""
    for k in (0, 32, 0):
        a = rand((64, k), torch.float16, device)
        b = rand((k, 64), torch.float16, device)
        c = torch.full((64, 64), 7.0, device=device)
        arguments = (64, 64, k, 64, 64, 32, False, tl.float32)
        matmul_kernel[1, 1](a, b, c, *arguments)
        check(c, a.double() @ b.double(), 1e-5)


def test_a_tensor_that_is_not_aligned(device):
    whole = rand((64 * 64 + 1,), torch.float16, device)
    x, y = whole[1:], torch.zeros(64 * 64, device=device, dtype=torch.float16)
    copy_2d[1,](x, y, 64, 64, 64, 3, 5, 0, 0, 32, 32, "zero")
    want = torch.zeros((64, 64), device=device, dtype=torch.float16)
    want[:32, :32] = x.reshape(64, 64)[3:35, 5:37]
    assert torch.equal(y.reshape(64, 64), want)


def test_odd_strides(device):
    """Rows whose distance is no multiple of 16 bytes."""
    run_copy_2d(50, 33, 33, (20, 10), (3, 5), (32, 32), torch.float16, "zero", device)


@triton.jit
def sum_of_windows_kernel(x_ptr, out_ptr, n, count, STEP: tl.constexpr, B: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [n, n], [n, 1], [B, B])
    total = tl.zeros([B, B], tl.float32)
    for i in tl.range(0, count, num_stages=3):
        total += x.load([i - 1, i * STEP])
    rows, columns = tl.arange(0, B)[:, None], tl.arange(0, B)[None, :]
    tl.store(out_ptr + rows * B + columns, total)


@pytest.mark.parametrize("step", [1, 3, 4])
def test_loads_that_begin_anywhere(step, device):
    """A GPU takes a copy that begins at no multiple of 16 bytes for an illegal instruction."""
    x, out = rand((64, 64), torch.float32, device), torch.zeros((32, 32), device=device)
    sum_of_windows_kernel[1,](x, out, 64, 5, step, 32)
    want = sum(window(x, (i - 1, i * step), (32, 32)).double() for i in range(5))
    check(out, want, 1e-5)


@triton.jit
def count_kernel(x_ptr, n, M: tl.constexpr, N: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [M, N])
    for _ in range(n):
        x.store([0, 0], x.load([0, 0]) + 1.0)


def test_a_store_is_seen_by_the_next_iteration(device):
    x = torch.zeros(32, 32, device=device)
    count_kernel[1,](x, 4, 32, 32, num_warps=2)
    assert (x == 4).all()
