"""What loops of others' kernels gain, without a GPU: boxes of a copy by TMA that several warps
begin, blocks in shared memory read in the layout that is wanted, rows of numbers loaded in it,
gathers in the layout of their index, descriptors and addresses as one base and constants. Results
by ptx_matrix_machine.py.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import pytest

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
import test_tma as tma  # noqa: E402

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)
ARCHS = pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
HALF = torch.float16


def loop_of(kernel: Any) -> str:
    """The kernel's only loop, at the GPU level."""
    (found,) = re.findall(r"scf\.for.*?scf\.yield", kernel.asm["ttgir"], re.DOTALL)
    return found


@pytest.mark.parametrize("arch", ["sm_90a"])
@pytest.mark.parametrize("stages", [2, 3])
@pytest.mark.parametrize("depth", [16, 96, 208])
def test_boxes_begun_by_several_warps(depth: int, stages: int, arch: str, kernels: Any) -> None:
    m, n = 80, 200  # partial tiles; four boxes of 64 columns
    a, b = torch.randn(m, depth).to(HALF), torch.randn(depth, n).to(HALF)
    c = torch.empty(m, n, dtype=HALF)
    tma.matmul_kernel[(2, 1)](a, b, c, m, n, depth, BM=64, BN=256, BK=32, TRANS=False,
                              ACC=tl.float32, num_warps=4, num_stages=stages)  # fmt: skip
    torch.testing.assert_close(c.float(), a.float() @ b.float(), rtol=1e-2, atol=1e-2)
    assert loop_of(kernels[0]).count("tlg.by_warps") == 2


@ARCHS
def test_sums_in_fp16_are_rounded_once(arch: str, kernels: Any) -> None:
    m, n, depth = 64, 64, 256
    a, b = torch.randn(m, depth).to(HALF), torch.randn(depth, n).to(HALF)
    c = torch.empty(m, n, dtype=HALF)
    tma.matmul_kernel[(1, 1)](a, b, c, m, n, depth, BM=64, BN=64, BK=16, TRANS=False,
                              ACC=tl.float16, num_warps=4, num_stages=2)  # fmt: skip
    torch.testing.assert_close(c.float(), a.float() @ b.float(), rtol=6e-4, atol=1e-4)
    assert "tl.fp_cast" not in loop_of(kernels[0])


@triton.jit
def bytes_of_columns_kernel(x_ptr, out_ptr, K: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, K)[:, None] + tl.arange(0, N)[None, :] * K
    wide = tl.inline_asm_elementwise(
        "{ .reg .b8 b<4>; mov.b32 {b0, b1, b2, b3}, $4; cvt.u32.u8 $0, b0; cvt.u32.u8 $1, b1;"
        " cvt.u32.u8 $2, b2; cvt.u32.u8 $3, b3; }",
        "=r,=r,=r,=r,r", [tl.load(x_ptr + at)], dtype=tl.int32, is_pure=True, pack=4
    )  # fmt: skip
    tl.store(out_ptr + at, wide)


@ARCHS
def test_assembly_takes_a_threads_own_elements(arch: str, kernels: Any) -> None:
    x = torch.randint(256, (32, 64), dtype=torch.uint8)
    out = torch.empty(32, 64, dtype=torch.int32)
    bytes_of_columns_kernel[(1,)](x, out, K=64, N=32, num_warps=4)
    torch.testing.assert_close(out, x.int())
    assert kernels[0].metadata.shared == 0


@triton.jit
def masked_scores_kernel(q_ptr, k_ptr, mask_ptr, bias_ptr, out_ptr, keys, stride,
                         ROWS: tl.constexpr, N: tl.constexpr, D: tl.constexpr):  # fmt: skip
    rows, columns, depth = tl.arange(0, ROWS), tl.arange(0, N), tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + depth[None, :])
    total = tl.zeros((ROWS, N), tl.float32)
    for start in tl.range(0, keys, N, num_stages=3):
        key = start + columns
        k = tl.load(k_ptr + key[None, :] * D + depth[:, None], mask=key[None, :] < keys, other=0.0)
        at = rows[:, None] * stride + key[None, :]
        scores = tl.dot(q, k) + tl.load(bias_ptr + at) * 0.5
        mask = tl.load(mask_ptr + at).to(tl.int32)
        total += scores + tl.where(mask == 0, -100.0, 0.0)
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], total)


@ARCHS
@pytest.mark.parametrize("keys", [0, 32, 96])
def test_what_is_read_from_shared_memory_is_not_converted(
    keys: int, arch: str, kernels: Any
) -> None:
    stride = 96
    q, k = torch.randn(64, 16).to(HALF), torch.randn(max(keys, 1), 16).to(HALF)
    mask, bias = (torch.rand(64, stride) < 0.5).float(), torch.randn(64, stride)
    out = torch.empty(64, 32)
    masked_scores_kernel[(1,)](q, k, mask, bias, out, keys, stride, ROWS=64, N=32, D=16)
    scores = q.float() @ k[:keys].float().T + bias[:, :keys] * 0.5
    expected = (scores + torch.where(mask[:, :keys].int() == 0, -100.0, 0.0)).reshape(64, -1, 32)
    torch.testing.assert_close(out, expected.sum(1), rtol=1e-2, atol=1e-2)
    assert "tlg.local_load" in loop_of(kernels[0])
    assert "tlg.convert_layout" not in loop_of(kernels[0])


@triton.jit
def less_rows_kernel(q_ptr, k_ptr, less_ptr, scale_ptr, out_ptr, tiles,
                     M: tl.constexpr, N: tl.constexpr, D: tl.constexpr,
                     OWN: tl.constexpr):  # fmt: skip
    """Of each tile, what a product is more than a number of its row; a scale for each tile, whose
    products are a loop of their own."""
    rows, columns, depth = tl.arange(0, M), tl.arange(0, N), tl.arange(0, 16)
    for tile in tl.range(tl.program_id(0), tiles, num_stages=OWN):
        total = tl.zeros((M, N), tl.float32)
        for start in range(0, D, 16):
            q = tl.load(q_ptr + (tile * M + rows[:, None]) * D + start + depth[None, :])
            k = tl.load(k_ptr + columns[None, :] * D + start + depth[:, None])
            less = tl.load(less_ptr + tile * M + rows, mask=rows < M - 1, other=0.0)
            total += tl.dot(q, k) - less[:, None]
        scale = tl.load(scale_ptr + tile * N + columns)
        at = (tile * M + rows[:, None]) * N + columns[None, :]
        tl.store(out_ptr + at, total * scale[None, :])


@ARCHS
@pytest.mark.parametrize("own", [None, 1])
@pytest.mark.parametrize("stages", [1, 3])
def test_rows_of_numbers_are_loaded_where_they_are_used(
    stages: int, own: int | None, arch: str, kernels: Any
) -> None:
    """In loops of one stage; else of what an inner loop's dots leave over."""
    m, n, d, tiles = 64, 64, 48, 3
    q, k = torch.randn(tiles * m, d).to(HALF), torch.randn(n, d).to(HALF)
    less, scale = torch.randn(tiles, m), torch.randn(tiles, n)
    out = torch.empty(tiles, m, n)
    less_rows_kernel[(2,)](
        q, k, less, scale, out, tiles, M=m, N=n, D=d, OWN=own, num_warps=4, num_stages=stages
    )
    less[:, -1] = 0
    products = (q.float() @ k.float().T).view(tiles, m, n) - 3 * less[:, :, None]
    torch.testing.assert_close(out, products * scale[:, None], rtol=1e-2, atol=1e-2)
    converted = re.findall(r"%(\w+?)(?:_\d+)? = tlg\.convert_layout", kernels[0].asm["ttgir"])
    assert "scale" not in converted
    assert ("less" in converted) <= (stages > 1)


@triton.jit
def scores_sum_kernel(q_ptr, k_ptr, out_ptr, tiles, M: tl.constexpr, N: tl.constexpr,
                      D: tl.constexpr):  # fmt: skip
    """The first operand of the products stays in shared memory for all of the loop."""
    rows, columns, depth = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + depth[None, :])
    total = tl.zeros((M, N), tl.float32)
    for tile in range(tiles):
        k = tl.load(k_ptr + (tile * N + columns[None, :]) * D + depth[:, None])
        total += tl.maximum(tl.dot(q, k), 0.0)
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], total)


@pytest.mark.parametrize("arch", ["sm_90a"])
@pytest.mark.parametrize("stages", [1, 2])
def test_descriptors_are_sums_beside_their_dot(stages: int, arch: str, kernels: Any) -> None:
    """They take no registers from one iteration to the next."""
    q, k = torch.randn(64, 128).to(HALF), torch.randn(3 * 64, 128).to(HALF)
    out = torch.empty(64, 64)
    scores_sum_kernel[(1,)](q, k, out, 3, M=64, N=64, D=128, num_warps=4, num_stages=stages)
    want = (q.float() @ k.float().T).clamp(min=0).view(64, 3, 64).sum(1)
    torch.testing.assert_close(out, want, rtol=1e-2, atol=1e-1)
    blocks = re.split(r"^\$L__BB\w+:", kernels[0].asm["ptx"], flags=re.MULTILINE)
    (block,) = (block for block in blocks if "wgmma.mma_async" in block)
    dots = re.findall(r"wgmma\.mma_async.*}, (%rd\d+), (%rd\d+),", block)
    assert len(dots) == 128 // 16
    for first, second in dots[1:]:
        for descriptor in (first, second):
            assert re.search(rf"add\.s64\s+{descriptor}, %rd\d+, \d+;", block)


@triton.jit
def nearest_kernel(x_ptr, code_ptr, out_ptr, n, B: tl.constexpr, STEPS: tl.constexpr):
    """The greatest entry of a sorted table that is not greater, by bisection."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    low, high = tl.zeros((B,), tl.int32), tl.full((B,), 255, tl.int32)
    for _ in range(STEPS):
        middle = (low + high + 1) // 2
        is_less = x < tl.load(code_ptr + middle)
        low, high = tl.where(is_less, low, middle), tl.where(is_less, middle - 1, high)
    tl.store(out_ptr + i, low.to(tl.uint8), mask=i < n)


@ARCHS
@pytest.mark.parametrize("n", [1, 700, 1024])
def test_gathers_by_a_computed_index_move_nothing(n: int, arch: str, kernels: Any) -> None:
    x, code = torch.randn(n), torch.sort(torch.randn(256)).values
    code[0] = -10
    out = torch.empty(n, dtype=torch.uint8)
    nearest_kernel[(triton.cdiv(n, 512),)](x, code, out, n, B=512, STEPS=8)
    assert torch.equal(out.int(), (torch.searchsorted(code, x, right=True) - 1).int())
    assert "tlg.convert_layout" not in kernels[0].asm["ttgir"]


@triton.jit
def row_maximum_kernel(x_ptr, out_ptr, columns, B: tl.constexpr):
    largest = float("-inf")
    for start in range(0, columns, B):
        i = start + tl.arange(0, B)
        x = tl.load(x_ptr + i, mask=i < columns, other=float("-inf"))
        largest = tl.maximum(largest, tl.max(x, 0))
    tl.store(out_ptr, largest)


@ARCHS
@pytest.mark.parametrize("columns", [16, 2048, 5104])
def test_accesses_of_a_loop_share_an_address(columns: int, arch: str, kernels: Any) -> None:
    x, out = torch.randn(columns), torch.empty(1)
    row_maximum_kernel[(1,)](x, out, columns, B=2048)
    assert out.item() == x.max().item()
    ptx = kernels[0].asm["ptx"]
    first, *others = re.findall(r"ld\.global\.v4\.b32.*\[(%rd\d+)\]", ptx)
    assert len(others) == 3
    for other in others:
        assert re.search(rf"add\.s64\s+{other}, {first}, \d+;", ptx)


@triton.jit
def to_fp8_kernel(x_ptr, out_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(out_ptr + i, (x * 2).to(tl.float8e4nv), mask=i < n)


@pytest.mark.parametrize("arch", ["sm_90a"])
@pytest.mark.parametrize("n", [16, 528, 1024])
def test_pairs_of_fp8_stay_together(n: int, arch: str, kernels: Any) -> None:
    x, out = torch.randn(n).to(HALF), torch.empty(n, dtype=torch.float8_e4m3fn)
    to_fp8_kernel[(triton.cdiv(n, 512),)](x, out, n, B=512)
    expected = (x.float() * 2).to(torch.float8_e4m3fn)
    assert torch.equal(out.view(torch.uint8), expected.view(torch.uint8))
    ptx = kernels[0].asm["ptx"]
    assert "ld.global.v2.b32" in ptx and "st.global.b32" in ptx
    assert "prmt" not in ptx and "shr.u16" not in ptx and "shr.u64" not in ptx


@triton.jit
def turned_sums_kernel(q_ptr, k_ptr, g_ptr, turned_ptr, plain_ptr, depth, rows_in_all,
                       M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):  # fmt: skip
    """As gradients of keys and of queries: sums of a dot, turned and as they are, for others."""
    rows, columns, features = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    k = tl.load(k_ptr + columns[:, None] * D + features[None, :])
    turned = tl.zeros((N, D), tl.float32)
    for start in range(0, rows_in_all, M):
        at = (start + rows)[:, None] * D + features[None, :]
        inside = (start + rows)[:, None] < rows_in_all
        q = tl.load(q_ptr + at, mask=inside, other=0.0)
        g = tl.load(g_ptr + at, mask=inside, other=0.0)
        weights = (tl.dot(q, tl.trans(k)) + 1).to(tl.float16)
        turned = tl.dot(tl.trans(weights), g, turned)
        tl.store(plain_ptr + at, tl.dot(weights, k), mask=inside)
    tl.store(turned_ptr + columns[:, None] * D + features[None, :], turned)


@pytest.mark.parametrize("arch", ["sm_90a"])
@pytest.mark.parametrize("stages", [2, 3])
@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("count", [0, 128, 384, 300])
def test_turned_sums_are_multiplied_from_shared_memory(
    count: int, warps: int, stages: int, arch: str, kernels: Any
) -> None:
    size, keys = 64, 16 * warps
    q, g = (torch.randint(-1, 2, (count, size)).half() for _ in range(2))
    k = torch.randint(-1, 2, (keys, size)).half()
    turned, plain = torch.full((keys, size), 7.0), torch.full((count, size), 7.0)
    turned_sums_kernel[(1,)](q, k, g, turned, plain, size, count, keys, keys, size,
                             num_warps=warps, num_stages=stages)  # fmt: skip
    weights = (q.float() @ k.float().T + 1).half().float()
    assert torch.equal(turned, weights.T @ g.float())
    assert torch.equal(plain, weights @ k.float())
    # First operands: of scores and of turned sums in shared memory, sums as they are not.
    first = re.findall(r"tlg\.wgmma %.* : (!tlg\.shared|tensor)<", kernels[0].asm["tlg"])
    assert sorted(first) == ["!tlg.shared", "!tlg.shared", "tensor"]


@triton.jit
def stepped_columns_kernel(q_ptr, k_ptr, out_ptr, keys, N: tl.constexpr, D: tl.constexpr):
    rows, features = tl.arange(0, N), tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + features[None, :])
    columns = tl.arange(0, N).to(tl.int64)
    k_ptrs = k_ptr + columns[:, None] * D + features[None, :]
    total = tl.zeros((N, D), tl.float32)
    for _ in range(tl.cdiv(keys, N)):
        k = tl.load(k_ptrs, mask=columns[:, None] < keys, other=0.0)
        scores = tl.where(columns[None, :] <= rows[:, None] + N, tl.dot(q, tl.trans(k)), 0.0)
        total += tl.dot(scores.to(tl.float16), k)
        columns += N
        k_ptrs += N * D
    tl.store(out_ptr + rows[:, None] * D + features[None, :], total)


@ARCHS
@pytest.mark.parametrize("keys", [0, 40, 64, 200])
def test_columns_that_a_loop_steps_over_are_not_converted(
    keys: int, arch: str, kernels: Any
) -> None:
    """They are asked for along rows by a load, along columns by a choice."""
    n, size = 64, 64
    q, k = torch.randint(-1, 2, (n, size)).half(), torch.randint(-1, 2, (keys, size)).half()
    out = torch.full((n, size), 7.0)
    stepped_columns_kernel[(1,)](q, k, out, keys, N=n, D=size)
    seen = torch.arange(keys) <= torch.arange(n)[:, None] + n
    assert torch.equal(out, (q.float() @ k.float().T * seen).half().float() @ k.float())
    loop = loop_of(kernels[0])
    assert "convert_layout" not in loop
    assert "tensor<64xi64" not in loop.partition("{")[0]  # carried


@triton.jit
def merged_kernel(x_ptr, score_ptr, ends_ptr, out_ptr, N: tl.constexpr):
    """States of varied number, each a row and its score."""
    row = tl.program_id(0)
    columns = tl.arange(0, N)
    start, end = tl.load(ends_ptr + row), tl.load(ends_ptr + row + 1)
    most, total = -1e30, 0.0
    sums = tl.zeros((N,), tl.float32)
    for state in range(start, end):
        score = tl.load(score_ptr + state)
        x = tl.load(x_ptr + state * N + columns)
        larger = tl.maximum(most, score)
        kept, factor = tl.exp2(most - larger), tl.exp2(score - larger)
        sums = sums * kept + x * factor
        total = total * kept + factor
        most = larger
    tl.store(out_ptr + row * N + columns, sums / total)


@ARCHS
@pytest.mark.parametrize("n", [32, 256])
def test_ptxas_unrolls_loops_of_unknown_length(n: int, arch: str, kernels: Any) -> None:
    """It brings the loads of the iterations together, where LLVM leaves the loop as it is."""
    ends = torch.tensor([0, 1, 6, 9], dtype=torch.int32)
    x, score = torch.randn(9, n), torch.randn(9)
    out = torch.empty(3, n)
    merged_kernel[(3,)](x, score, ends, out, N=n, num_warps=2)
    parts = [slice(ends[i], ends[i + 1]) for i in range(3)]
    factors = [torch.softmax(score[part] * 0.6931471805599453, 0) for part in parts]
    want = torch.stack([f @ x[part] for f, part in zip(factors, parts, strict=True)])
    torch.testing.assert_close(out, want, rtol=1e-5, atol=1e-5)
    body = kernels[0].asm["ptx"].partition("ex2")[0].rpartition("$L__BB")[2]  # pins have others
    assert kernels[0].asm["ptx"].count("ex2") == 2 and body.count("ld.global") == 2
