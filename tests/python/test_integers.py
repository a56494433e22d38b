"""The checks `overflow` and `arith`: what is loud, and what is meant and must be silent."""

import blockscope
import blockscope.language as tl
import pytest
import torch


@pytest.fixture(params=["flat", "step"])
def mode(request):
    blockscope.set_interpret_mode(request.param == "step")
    yield
    blockscope.set_interpret_mode(False)


BIG = 2_000_000_000


def ints(*values, dtype=torch.int32):
    return torch.tensor(values, dtype=dtype)


def findings(kernel, *arguments, grid=(1,), **constants):
    with blockscope.check("overflow,arith") as report:
        kernel[grid](*arguments, **constants)
    return [finding.code for finding in report.findings]


def elementwise(kernel, *tensors, dtype=torch.int32):
    """The findings of a kernel over blocks of four, that stores one."""
    return findings(kernel, *tensors, torch.zeros(4, dtype=dtype))


@blockscope.jit
def add(x_ptr, y_ptr, out_ptr):
    i = tl.arange(0, 4)
    tl.store(out_ptr + i, tl.load(x_ptr + i) + tl.load(y_ptr + i))


@blockscope.jit
def subtract(x_ptr, y_ptr, out_ptr):
    i = tl.arange(0, 4)
    tl.store(out_ptr + i, tl.load(x_ptr + i) - tl.load(y_ptr + i))


@blockscope.jit
def as_float(x_ptr, y_ptr, out_ptr):
    i = tl.arange(0, 4)
    total = tl.load(x_ptr + i) * tl.load(y_ptr + i)
    tl.store(out_ptr + i, total.to(tl.float32) * 0.5)


@blockscope.jit
def running(x_ptr, y_ptr, out_ptr):
    i = tl.arange(0, 4)
    tl.store(out_ptr + i, tl.cumsum(tl.load(x_ptr + i), axis=0))


@blockscope.jit
def _plus(a, b):
    return a + b


@blockscope.jit
def reduced(x_ptr, y_ptr, out_ptr):
    i = tl.arange(0, 4)
    tl.store(out_ptr + i, tl.reduce(tl.load(x_ptr + i), 0, _plus))


@blockscope.jit
def branch(x_ptr, y_ptr, out_ptr):
    if tl.load(x_ptr) + tl.load(y_ptr) < 100:
        tl.store(out_ptr, 1)


@blockscope.jit
def in_loop(x_ptr, y_ptr, out_ptr):
    total = tl.load(x_ptr)
    for _ in range(4):
        total += tl.load(y_ptr)
    tl.store(out_ptr, total)


@blockscope.jit
def atomic(x_ptr, y_ptr, out_ptr):
    i = tl.arange(0, 4)
    tl.atomic_add(out_ptr + i, tl.load(x_ptr + i) + tl.load(y_ptr + i), sem="relaxed")


@pytest.mark.parametrize(
    "kernel", [add, as_float, running, reduced, branch, in_loop, atomic], ids=lambda k: k.__name__
)
def test_a_signed_wrap_that_is_used(kernel, mode):
    big = ints(BIG, BIG, BIG, BIG)
    dtype = torch.float32 if kernel is as_float else torch.int32
    assert elementwise(kernel, big, big, dtype=dtype) == ["integer-wrap"]


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.int32, torch.int64])
def test_the_edge_of_each_type(dtype, mode):
    most, least = torch.iinfo(dtype).max, torch.iinfo(dtype).min
    ones = torch.ones(4, dtype=dtype)
    assert elementwise(add, ones * (most - 1), ones, dtype=dtype) == []
    assert elementwise(add, ones * most, ones, dtype=dtype) == ["integer-wrap"]
    assert elementwise(subtract, ones * (least + 1), ones, dtype=dtype) == []
    assert elementwise(subtract, ones * least, ones, dtype=dtype) == ["integer-wrap"]


@blockscope.jit
def comes_right_again(x_ptr, y_ptr, out_ptr):
    i = tl.arange(0, 4)
    x, y = tl.load(x_ptr + i), tl.load(y_ptr + i)
    tl.store(out_ptr + i, x + y - y)


@blockscope.jit
def dropped_by_mask(x_ptr, y_ptr, out_ptr):
    i = tl.arange(0, 4)
    total = tl.load(x_ptr + i) + tl.load(y_ptr + i)
    tl.store(out_ptr + i, total, mask=tl.load(x_ptr + i) < 5)


@blockscope.jit
def dropped_by_where(x_ptr, y_ptr, out_ptr):
    i = tl.arange(0, 4)
    x = tl.load(x_ptr + i)
    tl.store(out_ptr + i, tl.where(x < 5, x + tl.load(y_ptr + i), 0))


@blockscope.jit
def saturating(x_ptr, y_ptr, out_ptr):
    i = tl.arange(0, 4)
    x, y = tl.load(x_ptr + i), tl.load(y_ptr + i)
    total = x + y
    tl.store(out_ptr + i, tl.where(total < x, 2147483647, total))


@blockscope.jit
def compares_in_64_bits(x_ptr, y_ptr, out_ptr):
    i = tl.arange(0, 4)
    x, y = tl.load(x_ptr + i), tl.load(y_ptr + i)
    wide = x.to(tl.int64) * y
    narrow = x * y
    tl.store(out_ptr + i, tl.where(narrow.to(tl.int64) == wide, narrow, -1))


@blockscope.jit
def unsigned_hash(x_ptr, y_ptr, out_ptr):
    i = tl.arange(0, 4)
    h = tl.load(x_ptr + i).to(tl.uint32)
    h = (h ^ (h >> 16)) * 0x85EBCA6B
    h = (h ^ (h >> 13)) * 0xC2B2AE35
    tl.store(out_ptr + (h ^ (h >> 16)) % 4, i)


@blockscope.jit
def signed_hash(x_ptr, y_ptr, out_ptr):
    i = tl.arange(0, 4)
    h = tl.load(x_ptr + i)
    h = (h ^ (h >> 16)) * 73244475
    h = h ^ (h >> 13)
    h += h << 3
    h ^= h >> 11
    h += h << 15
    tl.store(out_ptr + i, h)


@blockscope.jit
def xorshift(x_ptr, y_ptr, out_ptr):
    i = tl.arange(0, 4)
    h = tl.load(x_ptr + i)
    h ^= h << 13
    h ^= h >> 17
    h ^= h << 5
    tl.store(out_ptr + i, h & 0x7FFFFFFF)


@blockscope.jit
def generator(x_ptr, y_ptr, out_ptr):
    i = tl.arange(0, 4)
    state = tl.load(x_ptr + i)
    for _ in range(5):
        state = state * 1103515245 + 12345
    tl.store(out_ptr + i, (state >> 16) & 0x7FFF)


@blockscope.jit
def random(x_ptr, y_ptr, out_ptr):
    i = tl.arange(0, 4)
    x = tl.rand(tl.load(x_ptr), i) + tl.randn(tl.load(x_ptr), i)
    tl.store(out_ptr + i, (x + tl.randint(BIG_SEED, i).to(tl.float32)).to(tl.int64))


BIG_SEED = tl.constexpr(0x1234567890)


@blockscope.jit
def byte_of_word(x_ptr, y_ptr, out_ptr):
    i = tl.arange(0, 4)
    tl.store(out_ptr + i, tl.load(x_ptr + i).to(tl.uint8))


@blockscope.jit
def packed_bytes(x_ptr, y_ptr, out_ptr):
    i = tl.arange(0, 4)
    x = tl.load(x_ptr + i) & 0xFF
    tl.store(out_ptr + i, (x << 24) | (x << 16) | (x << 8) | x)


@blockscope.jit
def sign_of_nibble(x_ptr, y_ptr, out_ptr):
    i = tl.arange(0, 4)
    nibble = (tl.load(x_ptr + i) << 28) >> 28  # of 4 bits with a sign
    tl.store(out_ptr + (nibble + 8) % 4, i)


@blockscope.jit
def unsigned_countdown(x_ptr, y_ptr, out_ptr):
    i = tl.arange(0, 4).to(tl.uint32)
    before = i - 1  # of 0: 2^32 - 1
    tl.store(out_ptr + (before + 1), tl.load(x_ptr + before, mask=i > 0, other=0))


@blockscope.jit
def slot_of_index(x_ptr, y_ptr, out_ptr):
    i = tl.arange(0, 4)
    h = (i + 1000) * 16777619  # no pattern before the product
    h = (h % 3 + 3) % 3
    g = (i + 1000) * (tl.full((4,), 8388609, tl.int32) * 2 + 1)
    tl.atomic_add(out_ptr + h, 1)
    tl.atomic_add(out_ptr + (g % 3 + 3) % 3, 1)


SILENT = [
    comes_right_again, dropped_by_mask, dropped_by_where, saturating, compares_in_64_bits,
    unsigned_hash, signed_hash, xorshift, generator, random, byte_of_word, packed_bytes,
    sign_of_nibble, unsigned_countdown, slot_of_index,
]  # fmt: skip


@pytest.mark.parametrize("kernel", SILENT, ids=lambda k: k.__name__)
def test_a_wrap_that_is_meant_or_dropped(kernel, mode):
    x = ints(BIG, BIG, 1_999_999_999, 2_147_483_647)
    assert elementwise(kernel, x, x.clone()) == []


@blockscope.jit
def rows_of_table(x_ptr, y_ptr, out_ptr):
    i = tl.arange(0, 4)
    rows = tl.load(y_ptr + i)
    tl.atomic_add(out_ptr + (rows * 1536 % 3 + 3) % 3, 1)


def test_rows_are_no_factor_of_a_hash(mode):
    """Odd and large as such factors are, but not the same for all elements."""
    x = ints(2_000_001, 2_000_003, 2_000_001, 2_000_001)
    with blockscope.check("overflow") as report:
        rows_of_table[(1,)](x, x.clone(), torch.zeros(4, dtype=torch.int32))
    assert [f.code for f in report.findings] == ["index-wrap"]
    assert "reaches the address of an atomic" in report.text()


@blockscope.jit
def padded_division(x_ptr, n_ptr, out_ptr):
    i = tl.arange(0, 4)
    inside = i < 3
    n = tl.load(n_ptr + i, mask=inside, other=0)
    tl.store(out_ptr + i, tl.load(x_ptr + i) // n, mask=inside)


@blockscope.jit
def guarded_division(x_ptr, n_ptr, out_ptr):
    i = tl.arange(0, 4)
    n = tl.load(n_ptr + i)
    tl.store(out_ptr + i, tl.where(n != 0, tl.load(x_ptr + i) % n, 0))


@blockscope.jit
def guarded_shift(x_ptr, n_ptr, out_ptr):
    i = tl.arange(0, 4)
    by = i * 16
    tl.store(out_ptr + i, tl.where(by < 32, tl.load(x_ptr + i) >> by, 0))


@blockscope.jit
def guarded_cast(x_ptr, n_ptr, out_ptr):
    i = tl.arange(0, 4)
    x = tl.load(x_ptr + i).to(tl.float32) / tl.load(n_ptr + i).to(tl.float32)
    tl.store(out_ptr + i, tl.where(x < 100.0, x, -1.0).to(tl.int32))


@pytest.mark.parametrize(
    "kernel",
    [padded_division, guarded_division, guarded_shift, guarded_cast],
    ids=lambda k: k.__name__,
)
def test_arithmetic_without_a_result_that_is_dropped(kernel, mode):
    assert elementwise(kernel, ints(7, 8, 9, 10), ints(1, 2, 3, 0)) == []


@blockscope.jit
def index_of(x_ptr, n_ptr, out_ptr):
    tl.store(out_ptr, tl.load(x_ptr + tl.load(x_ptr) % tl.load(n_ptr)))


@blockscope.jit
def mask_of(x_ptr, n_ptr, out_ptr):
    i = tl.arange(0, 4)
    tl.store(out_ptr + i, i, mask=i < 4 // tl.load(n_ptr))


@blockscope.jit
def way_of(x_ptr, n_ptr, out_ptr):
    for i in range(4 // tl.load(n_ptr)):
        tl.store(out_ptr + i, i)


@blockscope.jit
def unsigned_divisor(x_ptr, n_ptr, out_ptr):
    tl.store(out_ptr, tl.load(x_ptr).to(tl.uint32) // tl.load(n_ptr).to(tl.uint32))


@pytest.mark.parametrize(
    "kernel", [index_of, mask_of, way_of, unsigned_divisor], ids=lambda k: k.__name__
)
def test_a_division_by_0_that_is_used(kernel, mode):
    assert elementwise(kernel, ints(7, 8, 9, 10), ints(0)) == ["division-by-zero"]


@blockscope.jit
def cast_to(x_ptr, out_ptr):
    i = tl.arange(0, 2)
    tl.store(out_ptr + i, tl.load(x_ptr + i).to(out_ptr.dtype.element_ty))


CASTS = [
    (torch.int8, 127.9, -128.9, 128.0),
    (torch.uint8, 255.5, -0.9, -1.0),
    (torch.int16, 32767.0, -32768.0, 40000.0),
    (torch.int32, 2147483520.0, -2147483648.0, 2147483648.0),
    (torch.int64, 9.2e18, -9.2e18, 9.3e18),
    (torch.int32, 0.0, -0.0, float("nan")),
    (torch.int32, 0.0, -0.0, float("inf")),
]


@pytest.mark.parametrize("dtype, most, least, outside", CASTS)
def test_a_float_that_an_integer_has_and_one_that_it_has_not(dtype, most, least, outside, mode):
    out = torch.empty(2, dtype=dtype)
    assert findings(cast_to, torch.tensor([most, least]), out) == []
    assert findings(cast_to, torch.tensor([most, outside]), out) == ["float-to-int"]


def test_a_nan_has_no_sign_in_a_report(mode):
    nan = torch.tensor([-(2**22)] * 2, dtype=torch.int32).view(torch.float32)  # 0 / 0 on a CPU
    with blockscope.check("arith") as report:
        cast_to[(1,)](nan, torch.empty(2, dtype=torch.int32))
    assert "float = nan" in report.text(), report.text()


@blockscope.jit
def rows(x_ptr, out_ptr, stride):
    row = tl.program_id(0)
    tl.store(out_ptr + row, tl.load(x_ptr + row * stride))


@pytest.mark.parametrize(
    "stride, near, everything",
    [(1 << 20, 1, 1), (32769, 1, 1), (32768, 0, 1), (64, 0, 1), (1, 0, 0)],
)
def test_limits_of_the_grid(stride, near, everything, mode):
    x, out = torch.rand(2, stride), torch.empty(2)
    for choice, expected in [("near", near), ("all", everything), ("off", 0)]:
        with blockscope.check("overflow", grid_limits=choice) as report:
            rows[(2,)](x, out, stride)
        assert [f.code for f in report.findings] == ["grid-limit"] * expected
    if stride == 1 << 20:
        with blockscope.check("overflow") as report:
            rows[(2,)](x, out, stride)
        assert "from grid (2049, 1, 1) on" in report.findings[0].message


@blockscope.jit
def wide_rows(x_ptr, out_ptr, stride):
    row = tl.program_id(0).to(tl.int64)
    tl.store(out_ptr + row, tl.load(x_ptr + row * stride, mask=row < 1))


@pytest.mark.parametrize("stride", [1 << 20, 1 << 40])
def test_a_product_of_64_bits_has_no_limit(stride, mode):
    x, out = torch.rand(2), torch.empty(2)
    with blockscope.check("overflow", grid_limits="all") as report:
        wide_rows[(2,)](x, out, stride)
    assert report.findings == []


@blockscope.jit
def in_64_bits(x_ptr, out_ptr, large, shift, one, CASE: tl.constexpr):
    i = tl.arange(0, 16).to(tl.int64)
    y = i
    if CASE == "stored":
        y = (i + one) * large
    elif CASE == "address":
        y = tl.load(x_ptr + (i * 4) * large).to(tl.int64)  # 0 after the wrap
    elif CASE == "shifted":
        y = i << shift
    elif CASE == "divided":
        y = (i * 0 - 9223372036854775807 - one) // (0 - one)
    tl.store(out_ptr + tl.arange(0, 16), y)


@pytest.mark.parametrize(
    "case, code, hint",
    [
        ("stored", "integer-wrap", "compute it in an unsigned type if it is meant to wrap"),
        ("address", "index-wrap", "no tensor has so many elements: is one of these numbers not"),
        ("shifted", "shift-too-far", "keep the shift below the width"),
        ("divided", "division-overflow", "keep the least number out by tl.where or the mask"),
    ],
)
def test_hints_name_no_type_that_is_there(case, code, hint, mode):
    """int64 is the widest type: a hint to compute in int64 helps nobody then."""
    with blockscope.check("overflow,arith") as report:
        in_64_bits[(1,)](torch.zeros(32), torch.empty(16, dtype=torch.int64), 2**62, 64, 1, case)
    assert [f.code for f in report.findings] == [code]
    assert report.findings[0].hint.startswith(hint), report.text()
    assert "wider" not in report.text() and "in int64" not in report.findings[0].hint


@blockscope.jit
def blocks(x_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + i, i, mask=i < n)


def test_a_large_block_is_no_limit_that_is_near(mode):
    x = torch.empty(100, dtype=torch.int32)
    assert findings(blocks, x, 100, BLOCK=65536) == []


@blockscope.jit
def looked_up(index_ptr, x_ptr, out_ptr, stride):
    i = tl.arange(0, 4)
    rows = tl.load(index_ptr + i)
    tl.store(out_ptr + i, tl.load(x_ptr + rows * stride))


def test_operands_have_the_names_of_the_line(mode):
    index = ints(0, 0, 1 << 16, 0)
    with blockscope.check("overflow") as report:
        looked_up[(1,)](index, torch.rand(4), torch.empty(4), 1 << 16)
    (finding,) = report.findings
    assert finding.values == {
        "rows": "65536", "stride": "65536", "exact": "4294967296", "wrapped": "0",
    }  # fmt: skip
    assert finding.lane == 2
    (used,) = finding.used_at
    assert used["line"] == finding.line == looked_up.fn.__code__.co_firstlineno + 4
    assert finding.hint.endswith("rows.to(tl.int64) * stride")
