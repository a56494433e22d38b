"""What accesses become by what is known of their addresses: widths, copies, shared memory."""

from __future__ import annotations

import re
from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")


def compiled(kernel: Any, *arguments: Any, stages: int = 3) -> Any:
    return kernel.warmup(*arguments, grid=(1,), arch="sm_90a", num_warps=4, num_stages=stages)


def copy_sizes(text: str) -> set[int]:
    return {
        int(size) for size in re.findall(r"cp\.async\.c[ag]\S* \[[^]]*\], \[[^]]*\], (\d+)", text)
    }


@triton.jit
def hinted_kernel(
    table_ptr, out_ptr, lda, k, CLAIM: tl.constexpr, STATEMENT: tl.constexpr, N: tl.constexpr
):
    """Pointers that are read from memory; only the hint says how they are aligned."""
    n = tl.arange(0, N)
    a_ptr = tl.load(table_ptr).to(tl.pointer_type(tl.float16))
    b_ptr = tl.load(table_ptr + 1).to(tl.pointer_type(tl.float16))
    a_ptrs = a_ptr + n[:, None] * lda + n[None, :]
    b_ptrs = b_ptr + n[:, None] * lda + n[None, :]
    total = tl.zeros((N, N), tl.float32)
    for _ in range(k):
        if STATEMENT:
            tl.multiple_of(a_ptrs, [CLAIM, CLAIM])
            tl.multiple_of(b_ptrs, [CLAIM, CLAIM])
        else:
            a_ptrs = tl.multiple_of(a_ptrs, [CLAIM, CLAIM])
            b_ptrs = tl.multiple_of(b_ptrs, [CLAIM, CLAIM])
        total += tl.dot(tl.load(a_ptrs), tl.load(b_ptrs))
        a_ptrs += N
        b_ptrs += N * lda
    tl.store(out_ptr + n[:, None] * N + n[None, :], total)


@pytest.mark.parametrize("statement", [True, False])
@pytest.mark.parametrize("claim", [16, 8, 4])
def test_hints_on_pointers(claim: int, statement: bool) -> None:
    """The claim is one about addresses: in bytes."""
    table = torch.zeros(2, dtype=torch.int64)
    out = torch.zeros(64, 64)
    kernel = compiled(hinted_kernel, table, out, 100, 7, claim, statement, 64)
    assert copy_sizes(kernel.asm["ptx"]) == {claim}


@triton.jit
def rows_kernel(a_ptr, b_ptr, rows_ptr, out_ptr, count, k, N: tl.constexpr):
    """Rows by an index from memory, as experts take their tokens."""
    n = tl.arange(0, N)
    rows = tl.load(rows_ptr + n)
    a_ptrs = a_ptr + (rows[:, None] // 2 * k + n[None, :])
    b_ptrs = b_ptr + n[:, None] * N + n[None, :]
    total = tl.zeros((N, N), tl.float32)
    for _ in range(0, k, N):
        a = tl.load(a_ptrs, mask=(rows < count)[:, None], other=0.0)
        total += tl.dot(a, tl.load(b_ptrs))
        a_ptrs += N
        b_ptrs += N * N
    tl.store(out_ptr + n[:, None] * N + n[None, :], total)


def test_pointers_of_gathered_rows_are_not_moved() -> None:
    half = torch.zeros(1 << 14, dtype=torch.float16)
    rows, out = torch.zeros(64, dtype=torch.int32), torch.zeros(64, 64)
    kernel = compiled(rows_kernel, half, half, rows, out, 50, 256, 64)
    loop = kernel.asm["tlg"].split("scf.for", 1)[1].split("scf.yield", 1)[0]
    assert "tlg.convert_layout" not in loop
    assert copy_sizes(kernel.asm["ptx"]) == {16}


@triton.jit
def two_loops_kernel(a_ptr, b_ptr, out_ptr, k, limit, EARLY: tl.constexpr, N: tl.constexpr):
    if EARLY:
        if tl.program_id(0) >= limit:
            return
    n = tl.arange(0, N)
    total = tl.zeros((N, N), tl.float32)
    for i in range(k):
        at = i * N * N + n[:, None] * N + n[None, :]
        total = tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at), total)
    for i in range(k, 2 * k):
        at = i * N * N + n[:, None] * N + n[None, :]
        total = tl.dot(tl.load(b_ptr + at), tl.load(a_ptr + at), total)
    tl.store(out_ptr + n[:, None] * N + n[None, :], total)


def test_loops_share_memory_behind_an_early_return() -> None:
    half = torch.zeros(1 << 14, dtype=torch.float16)
    sizes = [
        compiled(two_loops_kernel, half, half, torch.zeros(64, 64), 5, 3, early, 64).metadata.shared
        for early in (False, True)
    ]
    assert sizes[0] == sizes[1]


@triton.jit
def many_dimensions_kernel(x_ptr, y_ptr, order_ptr):
    left, right = tl.load(order_ptr + tl.arange(0, 128)).reshape(2, 2, 2, 2, 2, 2, 2).split()
    tl.store(y_ptr + left, tl.load(x_ptr + (left + right)) + 1)


def test_pointers_with_many_dimensions() -> None:
    """Nothing is known of them; it ended the process."""
    x, order = torch.zeros(128), torch.zeros(128, dtype=torch.int32)
    assert "st.global" in compiled(many_dimensions_kernel, x, x, order).asm["ptx"]


@triton.jit
def hashed_kernel(out_ptr, x_ptr, seed_ptr, n, STEPS: tl.constexpr):
    i = tl.arange(0, 256)
    seed, total = tl.load(seed_ptr + i), tl.zeros([256], tl.int32)
    for j in range(n):
        h = seed + j
        for _ in tl.static_range(STEPS):
            h ^= h >> 3
            h += h << 5
        total += tl.load(x_ptr + (h & 1023))
    tl.store(out_ptr + i, total)


@pytest.mark.timeout(60)
def test_an_index_whose_steps_use_the_last_one_twice_compiles_in_no_time() -> None:
    """Each value is looked at once: there are 2 to the 80th ways through them."""
    out, x, seed = (torch.zeros(1024, dtype=torch.int32) for _ in range(3))
    kernel = hashed_kernel.warmup(out, x, seed, 8, 40, grid=(1,), arch="sm_90a")
    assert "ld.global" in kernel.asm["ptx"]


@triton.jit
def masked_pairs_kernel(x_ptr, at_ptr, out_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    at = tl.load(at_ptr + i, mask=i < n, other=0)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n, other=1.0), mask=i < n)
    tl.store(at_ptr + i, at + 1, mask=i < n)


def test_numbers_of_8_bytes_are_whole_words() -> None:
    """By halves they would be taken apart and put together again by shifts."""
    x, at = torch.zeros(256, dtype=torch.float64), torch.zeros(256, dtype=torch.int64)
    ptx = compiled(masked_pairs_kernel, x, at, x, 16 * 16, 256).asm["ptx"]
    for access in ("ld", "st"):
        assert len(re.findall(rf"@%p\d+ {access}\.global\.v2\.b64", ptx)) == 2
    assert "shl.b64" not in ptx and "or.b64" not in ptx


@triton.jit
def annotated_kernel(
    in_ptr, out_ptr, stride: tl.int64, step: tl.int32, untold: tl.int64, N: tl.constexpr
):
    tl.static_assert(stride.dtype == tl.int64)
    tl.static_assert(step.dtype == tl.int32)
    tl.static_assert(untold.dtype == tl.int64)
    n = tl.arange(0, N)
    values = tl.load(in_ptr + n * stride * step) + tl.load(in_ptr + n * untold)
    tl.store(out_ptr + n, values)


def test_annotated_numbers_that_are_1() -> None:
    """They keep their type, and are known to be 1: neighbours are loaded as vectors."""
    x, out = torch.zeros(4096), torch.zeros(1024)
    vectors = r"ld\.global\S*\.v4\.b32"
    plain = compiled(annotated_kernel, x, out, 2, 2, 2, 1024)
    assert not re.search(vectors, plain.asm["ptx"])
    one = compiled(annotated_kernel, x, out, 1, 1, 1, 1024)
    assert len(re.findall(vectors, one.asm["ptx"])) >= 2
    parameters = r"^\s*\.param .*annotated_kernel_param_"
    assert len(re.findall(parameters, one.asm["ptx"], re.MULTILINE)) == 5  # as what is given
