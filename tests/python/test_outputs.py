"""The checks `outputs` and `rows`: what kernels leave out on purpose, and what they forget."""

import blockscope
import blockscope.language as tl
import pytest
import torch


@pytest.fixture(params=["flat", "step"], autouse=True)
def mode(request):
    blockscope.set_interpret_mode(request.param == "step")
    yield
    blockscope.set_interpret_mode(False)


def codes(report):
    return [finding.code for finding in report.findings]


@blockscope.jit
def double(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, 2 * tl.load(x_ptr + i, mask=i < n), mask=i < n)


@blockscope.jit
def row(x_ptr, out_ptr, in_stride, out_stride, n, BLOCK: tl.constexpr):
    at, i = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at * in_stride + i, mask=i < n)
    tl.store(out_ptr + at * out_stride + i, x, mask=i < n)


@blockscope.jit
def scatter(x_ptr, slot_ptr, out_ptr, n: tl.constexpr):
    i, at = tl.arange(0, n), tl.program_id(0)
    slot = tl.load(slot_ptr + at)
    tl.store(out_ptr + slot * n + i, tl.load(x_ptr + at * n + i))


@blockscope.jit
def lower_triangle(out_ptr, n, BLOCK: tl.constexpr):
    i, j = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    tl.store(out_ptr + i * n + j, 1.0, mask=(i < n) & (j <= i))


@blockscope.jit
def from_offset(out_ptr, begin, n, BLOCK: tl.constexpr):
    i = begin + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, 1.0, mask=i < n)


@blockscope.jit
def every_other(out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + 2 * i, 1.0, mask=2 * i < n)


@blockscope.jit
def persistent(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    for block in range(tl.program_id(0), tl.cdiv(n, BLOCK), tl.num_programs(0)):
        i = block * BLOCK + tl.arange(0, BLOCK)
        tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


def rows_of_larger_buffer():
    row[(3,)](torch.ones(3, 100), torch.zeros(50, 128), 100, 128, 100, BLOCK=128)


def columns_of_larger_tensor():
    row[(5,)](torch.ones(5, 100), torch.empty(5, 300)[:, 100:200], 100, 300, 100, BLOCK=128)
    row[(5,)](torch.ones(5, 100), torch.empty(5, 300), 100, 300, 100, BLOCK=128)


def paged():
    scatter[(4,)](torch.ones(4, 16), torch.tensor([7, 2, 9, 4]), torch.empty(12, 16), n=16)


def in_two_launches():
    out = torch.empty(256)
    from_offset[(2,)](out, 0, 256, BLOCK=64)
    from_offset[(2,)](out, 128, 256, BLOCK=64)
    assert out.sum() == 256


def up_to_a_length():
    double[(2,)](torch.ones(100), torch.zeros(500), 100, BLOCK=64)
    double[(2,)](torch.ones(100), torch.empty(500), 100, BLOCK=64)


def rounded_up_to_blocks():
    out = torch.empty(4, 128)
    row[(4,)](torch.ones(4, 100), out, 100, 128, 100, BLOCK=128)
    assert out[:, :100].sum() == 400


RIGHT = {
    "all": lambda: double[(3,)](torch.ones(300), torch.empty(300), 300, BLOCK=128),
    "more programs than needed": lambda: double[(5,)](torch.ones(300), torch.empty(300), 300, 128),
    "rows of a larger buffer": rows_of_larger_buffer,
    "columns of a larger tensor": columns_of_larger_tensor,
    "paged": paged,
    "in two launches": in_two_launches,
    "up to a length": up_to_a_length,
    "rounded up to blocks": rounded_up_to_blocks,
    "a triangle": lambda: lower_triangle[(1,)](torch.zeros(20, 20), 20, BLOCK=32),
    "every other element": lambda: every_other[(2,)](torch.empty(200), 200, BLOCK=64),
    "persistent": lambda: persistent[(2,)](torch.ones(300), torch.empty(300), 300, BLOCK=64),
}


@pytest.mark.parametrize("launch", RIGHT.values(), ids=RIGHT)
def test_what_is_left_out_on_purpose(launch):
    with blockscope.check("outputs,rows") as report:
        launch()
    assert codes(report) == [], report.text()


@pytest.mark.parametrize("fill", [torch.zeros, torch.empty])
def test_a_grid_that_ends_too_early(fill):
    out = fill(300)
    with blockscope.check("outputs") as report:
        double[(2,)](torch.ones(300), out, 300, BLOCK=128)
    (finding,) = report.findings
    assert finding.code == "never-written"
    assert finding.count == 44
    assert "out_ptr[256:300]" in finding.message


def test_what_the_host_writes_after_all_is_taken_back():
    with blockscope.check("outputs") as report:
        out = torch.zeros(300)
        double[(2,)](torch.ones(300), out, 300, BLOCK=128)
        assert codes(report) == ["never-written"]
        out[256:] = 1
        assert codes(report) == []


def test_the_host_reads_a_tail():
    with blockscope.check("outputs") as report:
        out = torch.empty(300)
        double[(2,)](torch.ones(300), out, 200, BLOCK=128)
        out[:200].sum()
        assert codes(report) == []
        out.sum()
    (finding,) = report.findings
    assert finding.code == "never-written"
    assert finding.element == [200] and finding.count == 100
    assert finding.allocated_at[0]["file"] == __file__


def test_undefined_tells_of_what_the_host_reads():
    with blockscope.check("outputs,undefined") as report:
        out = torch.empty(300)
        double[(2,)](torch.ones(300), out, 200, BLOCK=128)
        out.sum()
    assert codes(report) == ["undefined-value"]


@blockscope.jit
def tile(x_ptr, out_ptr, m, n, sm, sn, M: tl.constexpr, N: tl.constexpr, MASK: tl.constexpr):
    i = tl.program_id(0) * M + tl.arange(0, M)
    j = tl.program_id(1) * N + tl.arange(0, N)
    at = i[:, None] * sm + j[None, :] * sn
    inside = (i[:, None] < m) & ((j[None, :] < n) | (not MASK))
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=inside), mask=inside)


@blockscope.jit
def walk(x_ptr, out_ptr, stride, n, BLOCK: tl.constexpr, MASK: tl.constexpr):
    at = tl.program_id(0)
    pointers = x_ptr + at * stride + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for k in range(tl.cdiv(n, BLOCK)):
        inside = (k * BLOCK + tl.arange(0, BLOCK) < n) | (not MASK)
        total += tl.load(pointers, mask=inside, other=0)
        pointers += BLOCK
    tl.store(out_ptr + at, tl.sum(total))


def views(shape, make):
    x = torch.ones(shape)
    return make(x), make(torch.zeros(shape))


@pytest.mark.parametrize(
    ("shape", "make"),
    [
        ((40, 50), lambda x: x),
        ((40, 70), lambda x: x[:, 10:60]),
        ((2, 20, 50), lambda x: x),
    ],
    ids=["contiguous", "columns of another", "batches in one"],
)
@pytest.mark.parametrize("mask", [True, False])
def test_columns_without_a_mask(shape, make, mask):
    x, out = views(shape, make)
    with blockscope.check("rows", bounds="storage") as report:
        tile[(2, 2)](x, out, 39, 50, *x.stride()[-2:], M=32, N=32, MASK=mask)
    is_inside_the_view = x.stride(-2) == 50
    expected = [] if mask or not is_inside_the_view else ["crosses-dimension"] * 2
    assert codes(report) == expected, report.text()
    for finding in report.findings:
        assert finding.severity == ("error" if finding.access == "store" else "warning")


@pytest.mark.parametrize("mask", [True, False])
def test_pointers_that_a_loop_moves(mask):
    x = torch.ones(6, 100)
    with blockscope.check("rows") as report:
        walk[(5,)](x, torch.zeros(6), 100, 100, BLOCK=32, MASK=mask)
    assert codes(report) == ([] if mask else ["crosses-dimension"]), report.text()


@blockscope.jit
def split(out_ptr, batches, rows, columns, M: tl.constexpr, N: tl.constexpr, MASK: tl.constexpr):
    z, m, n = tl.program_id(0), tl.arange(0, M), tl.arange(0, N)
    at = z * columns * rows + columns * m[:, None] + n[None, :]
    inside = (m[:, None] < rows) & ((n[None, :] < columns) | (not MASK))
    tl.store(out_ptr + at, 1.0, mask=inside)


@pytest.mark.parametrize("shape", [(3, 20, 96), (60, 96)], ids=["batches", "rows of all batches"])
@pytest.mark.parametrize("mask", [True, False])
def test_a_batch_that_is_a_product_of_sizes(shape, mask):
    """columns * rows may be read as steps of rows elements; it is the stride of a batch."""
    with blockscope.check("rows") as report:
        split[(2,)](torch.zeros(shape), 2, 20, 96, M=32, N=128, MASK=mask)
    assert codes(report) == ([] if mask else ["crosses-dimension"]), report.text()


@blockscope.jit
def rows_of_heads(x_ptr, out_ptr, heads, rows, columns, N: tl.constexpr, M: tl.constexpr):
    n = tl.program_id(0) % tl.cdiv(rows, N) * N + tl.arange(0, N)
    m = tl.arange(0, M)
    head = tl.program_id(1) * heads + tl.program_id(2)
    at = head * rows * columns + n[:, None] * columns + m[None, :]
    inside = (n[:, None] < rows) & (m[None, :] < columns)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=inside, other=0.0), mask=inside)


def test_a_padded_block_of_rows_may_be_as_long_as_all_heads():
    """N * columns is the stride of a batch; N is the size of a block, since lanes count rows."""
    x = torch.ones(2, 2, 32, 32)
    with blockscope.check("rows") as report:
        rows_of_heads[(1, 2, 2)](x, torch.zeros_like(x), 2, 32, 32, N=64, M=128)
    assert codes(report) == [], report.text()


@blockscope.jit
def matmul(a_ptr, b_ptr, c_ptr, n, sam, sak, sbk, sbn, B: tl.constexpr, S: tl.constexpr):
    i, k = tl.arange(0, B), tl.arange(0, B)
    a = a_ptr + i[:, None] * sam + k[None, :] * sak
    b = b_ptr + k[:, None] * sbk + i[None, :] * sbn
    c = a_ptr + i[:, None] * S + k[None, :]
    total = tl.zeros((B, B), tl.float32)
    for step in range(tl.cdiv(n, B)):
        left = n - step * B
        mask = (i[:, None] < n) & (k[None, :] < left)
        total += tl.load(a, mask=mask, other=0) + tl.load(c, mask=mask, other=0)
        total += tl.load(b, mask=(k[:, None] < left) & (i[None, :] < n), other=0)
        a += B * sak
        b += B * sbk
        c += B
    for at in range(0, n * sbk, B * sbk):
        total += tl.load(b_ptr + at + i[None, :] * sbn, mask=i[None, :] < n, other=0)
    tl.store(c_ptr + i[:, None] * n + i[None, :], total, mask=(i[:, None] < n) & (i[None, :] < n))


def test_tiles_that_a_loop_moves_along_rows():
    a = torch.ones(100, 100)
    with blockscope.check("rows") as report:
        matmul[(1,)](a, a.clone(), a.clone(), 100, 100, 1, 100, 1, B=128, S=100)
        matmul[(1,)](a, a.clone(), a.clone(), 100, 100, 1, 100, 1, B=32, S=100)
        matmul[(1,)](a.t(), a.t(), a.clone(), 100, 1, 100, 1, 100, B=32, S=100)
    assert codes(report) == [], report.text()


FLAT = {
    "a matrix as one row": lambda: double[(16,)](
        torch.ones(10, 100), torch.empty(10, 100), 1000, 64
    ),
    "several rows by one program": lambda: double[(4,)](
        torch.ones(10, 100), torch.empty(10, 100), 1000, 256
    ),
    "rows through all batches": lambda: row[(6,)](
        torch.ones(2, 3, 100), torch.empty(2, 3, 100), 100, 100, 100, BLOCK=128
    ),
}


@pytest.mark.parametrize("launch", FLAT.values(), ids=FLAT)
def test_dimensions_that_run_on(launch):
    with blockscope.check("rows") as report:
        launch()
    assert codes(report) == [], report.text()


@blockscope.autotune(
    configs=[blockscope.Config({"BLOCK": 64}), blockscope.Config({"BLOCK": 128})], key=["n"]
)
@blockscope.jit
def tuned_double(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, 2 * tl.load(x_ptr + i, mask=i < n), mask=i < n)


def test_what_an_autotuned_kernel_has_written_stays_so_when_it_is_run_again():
    with blockscope.check("all") as report:
        x, out = torch.ones(300), torch.empty(300)
        tuned_double[lambda meta: (blockscope.cdiv(300, meta["BLOCK"]),)](x, out, 300)
        assert out.sum().item() == 600
    assert codes(report) == []
