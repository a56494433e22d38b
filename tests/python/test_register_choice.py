"""How many registers a thread has: for which numbers of them ptxas is asked, and what is taken
(gpu_backend/codegen/register_choice)."""

import os
import time

import blockscope
import blockscope.language as tl
import gpu_rows
import pytest
from test_kernel_notes import compiled

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not gpu_rows.has_tools(), reason="ptxas is not installed")


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")


@blockscope.jit
def whole_row(x_ptr, out_ptr, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + columns)
    tl.store(out_ptr + columns, x / tl.sum(x, axis=0))


def runs_of_ptxas(monkeypatch, folder):
    """A function that counts how often ptxas has run from now on."""
    ptxas, log = folder / "ptxas", folder / "log"
    ptxas.write_text(f'#!/bin/sh\necho "$@" >> {log}\nexec {gpu_rows.gpu_tools.ptxas()} "$@"\n')
    ptxas.chmod(0o755)
    monkeypatch.setenv("TRITON_PTXAS_PATH", str(ptxas))
    return lambda: len([line for line in log.read_text().splitlines() if "-arch" in line])


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two processors")
def test_several_runs_of_ptxas_at_the_same_time(monkeypatch, tmp_path):
    """What may be asked for later begins beside what is asked for now; nothing goes on behind."""
    ptxas, log = tmp_path / "ptxas", tmp_path / "log"
    ptxas.write_text(
        f"#!/bin/sh\necho begin >> {log}\nsleep 0.3\n"
        f'{gpu_rows.gpu_tools.ptxas()} "$@"\nstatus=$?\necho end >> {log}\nexit $status\n'
    )
    ptxas.chmod(0o755)
    monkeypatch.setenv("TRITON_PTXAS_PATH", str(ptxas))
    x = torch.zeros(1 << 14)
    compiled(scaled_sum, x, x, x, len(x), 3, BLOCK=4096)
    running = most = 0
    lines = log.read_text().split()
    for line in lines:
        running += 1 if line == "begin" else -1
        most = max(most, running)
    assert len(lines) > 4 and most > 1
    time.sleep(0.7)
    assert log.read_text().split() == lines


def test_what_is_certain_to_spill_is_assembled_once(monkeypatch, tmp_path):
    """A thread has 1024 elements, all of which it needs twice."""
    count = runs_of_ptxas(monkeypatch, tmp_path)
    kernel = compiled(whole_row, tl.float32, tl.float32, BLOCK=32768, num_warps=1)
    assert kernel.n_spills > 0 and ".minnctapersm 1" in kernel.asm["ptx"]
    assert count() == 1


def test_what_is_likely_to_spill_has_all_registers_at_once(monkeypatch, tmp_path):
    """A thread has 512 elements. ptxas gives some such kernels few registers."""
    count = runs_of_ptxas(monkeypatch, tmp_path)
    kernel = compiled(whole_row, tl.float32, tl.float32, BLOCK=16384, num_warps=1)
    assert kernel.n_spills > 0 and ".minnctapersm 1" in kernel.asm["ptx"]
    assert count() == 1
    kernel = compiled(whole_row, tl.float32, tl.float32, BLOCK=8192, num_warps=1)
    assert kernel.n_spills > 0 and ".minnctapersm" not in kernel.asm["ptx"]


@blockscope.jit
def one_product(x_ptr, y_ptr, out_ptr, N: tl.constexpr, K: tl.constexpr):
    n, k = tl.arange(0, N), tl.arange(0, K)
    x = tl.load(x_ptr + n[:, None] * K + k[None, :])
    y = tl.load(y_ptr + k[:, None] * N + n[None, :])
    tl.store(out_ptr + n[:, None] * N + n[None, :], tl.dot(x, y))


def test_what_cannot_be_launched_is_assembled_once(monkeypatch, tmp_path):
    """Where it spills, other kernels are assembled again, in up to three other ways."""
    count = runs_of_ptxas(monkeypatch, tmp_path)
    kernel = compiled(one_product, tl.float32, tl.float32, tl.float32, N=256, K=128)
    assert kernel.metadata.shared > 227 << 10 and kernel.n_spills > 0
    assert count() == 1


def test_few_sums_of_addresses_are_not_taken_apart(monkeypatch, tmp_path):
    """Where it spills, some kernels are assembled again with products and sums of addresses
    apart."""
    count = runs_of_ptxas(monkeypatch, tmp_path)
    kernel = compiled(one_product, tl.float32, tl.float32, tl.float32, N=64, K=128, num_warps=2)
    assert kernel.n_spills > 0 and 0 < kernel.asm["ptx"].count("mad.wide") < 12
    assert count() == 1


@blockscope.jit
def products_of_rows(x_ptr, y_ptr, out_ptr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.arange(0, ROWS)
    at = rows[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    x, y = tl.load(x_ptr + at).to(tl.float32), tl.load(y_ptr + at).to(tl.float32)
    tl.store(out_ptr + rows, tl.sum(x * y, axis=1))


@blockscope.jit
def scaled_rows(x_ptr, scale_ptr, shift_ptr, out_ptr, SIZE: tl.constexpr, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    mask = columns < SIZE
    x = tl.load(x_ptr + tl.program_id(0) * SIZE + columns, mask, 0).to(tl.float32)
    factor = tl.rsqrt(tl.sum(x * x) / SIZE + 1e-6)
    scale = tl.load(scale_ptr + columns, mask, 0).to(tl.float32)
    shift = tl.load(shift_ptr + columns, mask, 0).to(tl.float32)
    y = x * factor * (1 + scale) + shift
    tl.store(out_ptr + tl.program_id(0) * SIZE + columns, y, mask)


@blockscope.jit
def products_along_rows(x_ptr, y_ptr, out_ptr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row, column = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, BLOCK)
    at = row[:, None] * BLOCK + column[None, :]
    x, y = tl.load(x_ptr + at).to(tl.float32), tl.load(y_ptr + at).to(tl.float32)
    tl.store(out_ptr + row, tl.sum(x * y, 1))


LONG_ROWS = (tl.bfloat16, tl.bfloat16, tl.float32), {"ROWS": 16, "BLOCK": 1024, "num_warps": 8}


@blockscope.jit
def composed(left_a, left_b, right_a, right_b):
    return left_a * right_a, right_a * left_b + right_b


@blockscope.jit
def long_scan(a_ptr, b_ptr, out_ptr, chunks, n, s, L: tl.constexpr, S: tl.constexpr):
    row, column = tl.arange(0, L), tl.arange(0, S)
    gain, value = tl.full([S], 1, tl.float32), tl.zeros([S], tl.float32)
    for chunk in range(chunks):
        at = tl.program_id(0) * n * s + (chunk * L + row)[:, None] * s + column[None, :]
        mask = (chunk * L + row < n)[:, None] & (column < s)[None, :]
        a, b = tl.load(a_ptr + at, mask, 1), tl.load(b_ptr + at, mask, 0)
        a, b = tl.associative_scan((a, b), 0, composed)
        b += a * value[None, :]
        a *= gain[None, :]
        tl.store(out_ptr + at, b, mask)
        last = (row == tl.minimum(L, n - chunk * L) - 1)[:, None]
        gain, value = tl.sum(tl.where(last, a, 0), 0), tl.sum(tl.where(last, b, 0), 0)


def test_several_small_programs_more_run_with_few_registers_less():
    """Two warps: of programs with up to 128 registers eight run, with more six at most."""
    kernel = compiled(long_scan, *(tl.float32,) * 3, 5, 640, 16, L=128, S=16, num_warps=2)
    assert ".minnctapersm 8" in kernel.asm["ptx"]
    assert kernel.n_regs <= 128 and kernel.n_spills == 0


def test_few_registers_less_let_more_programs_run():
    """Eight warps: six programs on a multiprocessor have 40 registers a thread, five have 48."""
    types, sizes = LONG_ROWS
    kernel = compiled(products_along_rows, *types, **sizes)
    assert ".minnctapersm 6" in kernel.asm["ptx"]
    assert kernel.n_regs <= 40 and kernel.n_spills == 0
    kernel = compiled(products_along_rows, *types, **sizes, maxnreg=64)
    assert ".minnctapersm" not in kernel.asm["ptx"]


@blockscope.jit
def residual_norm(
    x_ptr, more_ptr, scale_ptr, sum_ptr, out_ptr, rows, columns,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    row, column = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    mask = (row < rows)[:, None] & (column < columns)[None, :]
    at = row[:, None] * columns + column[None, :]
    x = tl.load(x_ptr + at, mask) + tl.load(more_ptr + at, mask)
    tl.store(sum_ptr + at, x, mask)
    scale = tl.load(scale_ptr + column, column < columns)
    factor = tl.rsqrt(tl.sum(x * x, 1) / columns + 1e-6)
    tl.store(out_ptr + at, x * factor[:, None] * scale[None, :], mask)


@pytest.mark.parametrize(("rows", "is_pinned"), [(1, False), (4, True)])
def test_loads_of_straight_code_begin_together(rows, is_pinned):
    """Of four rows a thread has 16 loads of 16 bytes, which ptxas would begin in several rounds."""
    types = (tl.float32,) * 5
    kernel = compiled(residual_norm, *types, 100, 1024, ROWS=rows, COLUMNS=1024, num_warps=4)
    assert ("$L__pinned" in kernel.asm["ptx"]) == is_pinned
    assert kernel.n_spills == 0


@blockscope.jit
def signs_by_eight(x_ptr, out_ptr, stride, rows, ROWS: tl.constexpr, D: tl.constexpr):
    row, byte = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None], tl.arange(0, D)[None, :]
    bit = tl.arange(0, 8)
    at = (row * stride + byte * 8)[:, :, None] + bit[None, None, :]
    x = tl.load(x_ptr + at, at < rows * D * 8)
    signs = tl.sum((x > 0).to(tl.int8) << bit.to(tl.int8)[None, None, :], 2)
    tl.store(out_ptr + row * D + byte, signs, row < rows)


def test_loads_begin_before_their_uses():
    """Each of 64 loads has its use, a comparison, right behind it: no two follow each other, and
    short of predicates ptxas began eight at a time."""
    types = (tl.float32, tl.int8)
    kernel = compiled(signs_by_eight, *types, 99, 999, ROWS=128, D=8, num_warps=4)
    ptx = kernel.asm["ptx"]
    loads = [at for at, line in enumerate(ptx.splitlines()) if "ld.global" in line]
    pins = [at for at, line in enumerate(ptx.splitlines()) if "@%pinned bra" in line]
    assert len(loads) == 64 and 1 <= len(pins) <= 2
    between = ptx.splitlines()[loads[0] : loads[7]]
    assert not any("setp.gt.f32" in line for line in between)


@blockscope.jit
def mixed_norm(x_ptr, y_ptr, z_ptr, a_ptr, b_ptr, c_ptr, out_ptr, first,
               N: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    at = tl.arange(0, BLOCK)
    inside, row = at < N, tl.program_id(0) * N
    part = tl.where(tl.program_id(0) < first, 0, N) + at
    x = tl.load(x_ptr + row + at, inside, 0).to(tl.float32)
    y = tl.load(y_ptr + row + at, inside, 0).to(tl.float32)
    z = tl.load(z_ptr + part, inside, 0).to(tl.float32)
    a = tl.load(a_ptr + part, inside, 0).to(tl.float32)
    b = tl.load(b_ptr + at, inside, 0).to(tl.float32)
    c = tl.load(c_ptr + at, inside, 0).to(tl.float32)
    mixed = x - a + c * (y - z) + b * z
    scale = tl.rsqrt(tl.sum(mixed * mixed) / N + 1e-6)
    tl.store(out_ptr + row + at, mixed * scale, inside)


def test_two_registers_less_let_a_third_program_run():
    """Of 16 warps. By the order of its PTX the kernel asks for far more than the 40 that it may
    have, but ptxas alone takes 42."""
    kernel = compiled(mixed_norm, *(tl.bfloat16,) * 7, 99, N=6144, BLOCK=8192, num_warps=16)
    assert kernel.n_regs <= 40 and ".minnctapersm 3" in kernel.asm["ptx"]


@blockscope.jit
def attention_in_integers(
    q, k, v, table, out, length, heads, page, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr
):
    m, n, d = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    x = tl.load(q + m[:, None] * D + d[None, :], m[:, None] < length, 0)
    top = tl.full((M,), -float("inf"), tl.float32)
    for start in range(0, length, N):
        at = start + n
        row = (tl.load(table + at // page, at < length, 0) * page + at % page) * heads * D
        y = tl.load(k + row[None, :] + d[:, None], at[None, :] < length, 1)
        s = tl.where(at[None, :] <= m[:, None], tl.dot(x, y) * 0.5, -float("inf"))
        top = tl.maximum(top, tl.max(s, 1))
    total = tl.zeros((M,), tl.int64)
    acc = tl.zeros((M, D), tl.int64)
    for start in range(0, length, N):
        at = start + n
        row = (tl.load(table + at // page, at < length, 0) * page + at % page) * heads * D
        y = tl.load(k + row[None, :] + d[:, None], at[None, :] < length, 1)
        z = tl.load(v + row[:, None] + d[None, :], at[:, None] < length, 1)
        s = tl.where(at[None, :] <= m[:, None], tl.dot(x, y) * 0.5, -float("inf"))
        w = tl.exp2(s - top[:, None])
        total += tl.sum((w * 65536).to(tl.int64), 1)
        acc += (tl.dot(w.to(x.dtype), z) * 65536).to(tl.int64)
    o = acc.to(tl.float32) / total.to(tl.float32)[:, None]
    tl.store(out + m[:, None] * D + d[None, :], o.to(tl.float16), m[:, None] < length)


def test_few_registers_less_let_a_third_program_multiply():
    """ptxas alone gives a thread more than the 168 registers with which three programs of 4 warps
    run at the same time."""
    types = (tl.float16, tl.float16, tl.float16, tl.int32, tl.float16)
    sizes = {"M": 32, "N": 64, "D": 128, "num_warps": 4, "num_stages": 1}
    kernel = compiled(attention_in_integers, *types, 1000, 8, 16, **sizes)
    assert ".minnctapersm 3" in kernel.asm["ptx"]
    assert kernel.n_regs <= 168 and kernel.n_spills <= 16  # words: next to nothing
    kernel = compiled(attention_in_integers, *types, 1000, 8, 16, **sizes, maxnreg=255)
    assert ".minnctapersm" not in kernel.asm["ptx"] and kernel.n_regs > 168


@blockscope.jit
def scaled_sum(x_ptr, y_ptr, out_ptr, size, blocks, BLOCK: tl.constexpr):
    for block in range(tl.program_id(0), blocks, tl.num_programs(0)):
        at = block * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, at < size)
        y = tl.load(y_ptr + at, at < size)
        tl.store(out_ptr + at, 0.5 * x + y, at < size)


def test_registers_more_let_loads_begin_together():
    """A thread loads 16 vectors in an iteration. With the registers that ptxas gave it, it began
    nine, then as many as others had freed."""
    x = torch.zeros(1 << 14)
    kernel = compiled(scaled_sum, x, x, x, len(x), 3, BLOCK=4096)
    assert ".minnctapersm" in kernel.asm["ptx"]
    assert kernel.n_regs > 64 and kernel.n_spills == 0
    kernel = compiled(scaled_sum, x, x, x, len(x), 3, BLOCK=4096, maxnreg=64)
    assert ".minnctapersm" not in kernel.asm["ptx"]


@blockscope.jit
def sums_of_windows(
    x_ptr, weights_ptr, out_ptr, rows, columns, height, width, M: tl.constexpr, N: tl.constexpr
):
    row = tl.program_id(0) * M + tl.arange(0, M)[:, None]
    column = tl.program_id(1) * N + tl.arange(0, N)[None, :]
    total = tl.zeros((M, N), tl.float32)
    for i in range(height):
        for j in range(width):
            inside = (row + i < rows) & (column + j < columns)
            x = tl.load(x_ptr + (row + i) * columns + column + j, inside, 0)
            total += x * tl.load(weights_ptr + i * width + j)
    tl.store(out_ptr + row * columns + column, total, (row < rows) & (column < columns))


def test_registers_more_spare_instructions():
    """With the 32 registers that let all warps run, ptxas computed addresses and masks again."""
    x = torch.zeros(1 << 14)
    kernel = compiled(sums_of_windows, x, x, x, 999, 1111, 13, 15, M=4, N=256, num_warps=4)
    assert ".minnctapersm" in kernel.asm["ptx"]
    assert 32 < kernel.n_regs <= 56 and kernel.n_spills == 0
    kernel = compiled(scaled_rows, *(tl.bfloat16,) * 4, SIZE=1024, BLOCK=1024, num_warps=4)
    assert kernel.n_regs <= 32 and ".minnctapersm" not in kernel.asm["ptx"]


def test_registers_far_below_the_demand_are_not_tried(monkeypatch, tmp_path):
    """All loads stand before the products, and ptxas puts them in between."""
    count = runs_of_ptxas(monkeypatch, tmp_path)
    types = (tl.float16, tl.float16, tl.float32)
    kernel = compiled(products_of_rows, *types, ROWS=128, BLOCK=128, num_warps=4)
    assert 32 < kernel.n_regs < 48, "one program more would have at most 32"
    assert count() == 3, "with its loads pinned, and with as many programs said aloud"
    types, sizes = LONG_ROWS
    compiled(products_along_rows, *types, **sizes)
    assert count() == 6


def test_one_program_more_is_tried_and_no_further_ones(monkeypatch, tmp_path):
    """10 programs run. With 11 and 12 a thread has as many registers."""
    count = runs_of_ptxas(monkeypatch, tmp_path)
    kernel = compiled(whole_row, tl.float32, tl.float32, BLOCK=4096, num_warps=4)
    assert kernel.n_regs == 48 and ".minnctapersm" not in kernel.asm["ptx"]
    assert count() == 2


def test_a_fifth_of_the_registers_less_is_tried_where_values_fit(monkeypatch, tmp_path):
    """One takes 48 registers, the other one 40. With a step less more programs would run. The
    values of the first one have room there."""
    count = runs_of_ptxas(monkeypatch, tmp_path)
    types, sizes = LONG_ROWS
    kernel = compiled(products_along_rows, *types, **sizes)
    assert kernel.n_regs <= 40 and count() == 3, "with its loads pinned, too"
    kernel = compiled(scaled_rows, *(tl.bfloat16,) * 4, SIZE=2048, BLOCK=2048, num_warps=4)
    assert kernel.n_regs == 40 and count() == 5, "with as many programs said aloud"


@blockscope.jit
def scaled_exponentials(x_ptr, scale_ptr, out_ptr, size, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    scale = tl.load(scale_ptr + row)
    for start in range(0, size, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * size + at, at < size, 0)
        tl.store(out_ptr + row * size + at, scale * tl.exp(x), at < size)


def test_more_registers_are_not_tried_where_few_values_live(monkeypatch, tmp_path):
    """All warps run with 32 registers, all of which ptxas gives to several iterations at once."""
    count = runs_of_ptxas(monkeypatch, tmp_path)
    types = (tl.float32,) * 3
    kernel = compiled(scaled_exponentials, *types, 5000, BLOCK=256, num_warps=8)
    assert kernel.n_regs == 32
    assert count() == 1


@blockscope.jit
def followed(x_ptr, next_ptr, out_ptr, size):
    at, total = tl.program_id(0) * 128 + tl.arange(0, 128), tl.zeros((128,), tl.float32)
    for _ in range(size):
        at = tl.load(next_ptr + at)
        total += tl.load(x_ptr + at)
    tl.store(out_ptr + tl.program_id(0) * 128 + tl.arange(0, 128), total)


def test_more_registers_are_not_tried_where_some_are_left(monkeypatch, tmp_path):
    """Loads wait for each other, not for registers: with 32 of them all warps would run."""
    count = runs_of_ptxas(monkeypatch, tmp_path)
    kernel = compiled(followed, tl.float32, tl.int32, tl.float32, 1000, num_warps=4)
    assert kernel.n_regs <= 30
    assert count() == 1
