"""Loads, stores, atomics, block pointers and descriptors: equal in both CPU modes."""

from __future__ import annotations

import types
from typing import Any

import blockscope
import blockscope.language as tl
import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("mode")


@blockscope.jit
def masked_copy(x, out, n, B: tl.constexpr, OTHER: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i < n, other=OTHER))


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "int8", "int32", "uint16", "int64"]
)
def test_masked_load_gives_other(dtype: str) -> None:
    x, out = np.arange(64).astype(dtype), np.zeros(64, dtype)
    masked_copy[(1,)](x, out, 40, B=64, OTHER=7)
    np.testing.assert_array_equal(out, np.where(np.arange(64) < 40, x, x.dtype.type(7)))


@blockscope.jit
def masked_store(out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, i.to(tl.float32), mask=i < n)
    tl.store(out + 63, 5)


def test_masked_store_keeps_the_rest() -> None:
    out = np.full(64, -1, np.float32)
    masked_store[(1,)](out, 10, B=64)
    expected = np.where(np.arange(64) < 10, np.arange(64), -1).astype(np.float32)
    expected[63] = 5
    np.testing.assert_array_equal(out, expected)


@blockscope.jit
def wide_mask(x, flags, out, n, B: tl.constexpr, C: tl.constexpr):
    i, j = tl.arange(0, B)[:, None], tl.arange(0, C)[None, :]
    value = tl.load(x + i, mask=(i < n) & (j < n), other=7)
    flag = tl.load(flags + j, mask=(i != j) & (j < C), other=1)
    tl.store(out + i * C + j, tl.where(flag, value, -1.0))


def test_a_wider_mask_loads_the_same_element_for_more_lanes() -> None:
    x, flags = np.arange(8, dtype=np.float32) + 10, np.arange(16) % 3 == 0
    out = np.zeros((8, 16), np.float32)
    wide_mask[(1,)](x, flags, out, 5, B=8, C=16)
    i, j = np.mgrid[:8, :16]
    value = np.where((i < 5) & (j < 5), x[i], 7)
    np.testing.assert_array_equal(out, np.where((i == j) | flags[j], value, -1))
    with blockscope.check("all") as report:
        wide_mask[(1,)](x[:5], flags, out, 5, B=8, C=16)
    assert not report.findings


def test_a_wider_mask_finds_the_lane_that_is_outside() -> None:
    out = np.zeros((8, 16), np.float32)
    with blockscope.check("asan") as report:
        wide_mask[(1,)](np.ones(4, np.float32), np.ones(16, bool), out, 5, B=8, C=16)
    (finding,) = report.findings
    assert finding.code == "oob-load" and "lane 64 = [4, 0] of block [8, 16]" in report.text()


@blockscope.jit
def wide_mask_of_a_store(out, B: tl.constexpr):
    i, j = tl.arange(0, B)[:, None], tl.arange(0, B)[None, :]
    tl.store(out + i, 1.0, mask=i < j)


def test_no_wider_mask_stores() -> None:
    errors = blockscope.CompilationError, ValueError  # step by step
    with pytest.raises(errors, match="does not fit the shape"):
        wide_mask_of_a_store[(1,)](np.zeros(8, np.float32), B=8)


@blockscope.jit
def fewer_dimensions(x, out, rows, B: tl.constexpr, C: tl.constexpr):
    i, j, row = tl.arange(0, B)[:, None], tl.arange(0, C)[None, :], tl.arange(0, C)
    each = (i * C + j)[None, :, :]
    value = tl.load(x + each, mask=row < 5, other=row)
    tl.store(out + each, tl.sum(value, axis=0), mask=i != j)
    tl.store(rows + i * C + row, tl.load(x + row, mask=i < 3, other=-1))


def test_masks_and_values_may_have_fewer_dimensions() -> None:
    x, out = np.arange(64, dtype=np.int32).reshape(4, 16) + 100, np.zeros((4, 16), np.int32)
    rows = np.zeros((4, 16), np.int32)
    fewer_dimensions[(1,)](x, out, rows, B=4, C=16)
    i, j = np.mgrid[:4, :16]
    np.testing.assert_array_equal(out, np.where(i == j, 0, np.where(j < 5, x, j)))
    np.testing.assert_array_equal(rows, np.where(i < 3, x[0], -1))


@blockscope.jit
def atomic_of_fewer_dimensions(out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.atomic_add(out + i[None, :], i)


def test_values_of_atomics_have_the_dimensions_of_the_pointer() -> None:
    errors = blockscope.CompilationError, ValueError  # step by step
    with pytest.raises(errors, match=r"val is int32\[8\], which does not fit the shape \[1, 8\]"):
        atomic_of_fewer_dimensions[(1,)](np.zeros(8, np.int32), B=8)


@blockscope.jit
def modifiers(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    a = tl.load(x + i, cache_modifier=".cg", eviction_policy="evict_first")
    b = tl.load(x + i, mask=i < B, other=0, volatile=True)
    tl.store(out + i, a + b, cache_modifier=".wt", eviction_policy="evict_last")


def test_modifiers_change_nothing() -> None:
    x, out = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    modifiers[(1,)](x, out, B=32)
    np.testing.assert_array_equal(out, 2 * x)


@blockscope.jit
def bools(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    flag = tl.load(x + i)
    tl.store(out + i, ~flag)


def test_any_byte_but_zero_is_true() -> None:
    x = np.array([0, 1, 2, 255] * 4, np.uint8).view(np.bool_)
    out = np.zeros(16, np.bool_)
    bools[(1,)](x, out, B=16)
    np.testing.assert_array_equal(out.view(np.uint8), [1, 0, 0, 0] * 4)


@blockscope.jit
def address_arithmetic(x, out):
    i = tl.arange(0, 8)
    last = x + 15
    a = tl.load(last - i)
    b = tl.load(i.to(tl.uint8) + x)
    c = tl.load(x + i.to(tl.int64) * 2)
    d = tl.load(last - i.to(tl.uint32))
    tl.store(out + i, a)
    tl.store(out + 8 + i, b)
    tl.store(out + 16 + i, c)
    tl.store(out + 24 + i, d)


def test_address_arithmetic() -> None:
    x, out = np.arange(16, dtype=np.float32), np.zeros(32, np.float32)
    address_arithmetic[(1,)](x, out)
    i = np.arange(8)
    np.testing.assert_array_equal(out, np.concatenate([15 - i, i, 2 * i, 15 - i]))


@blockscope.jit
def through_pointers(table, out, B: tl.constexpr):
    i = tl.arange(0, B)
    for k in range(2):
        base = tl.load(table + k).to(tl.pointer_type(tl.float32))
        tl.store(out + k * B + i, tl.load(base + i))


def test_pointers_loaded_from_memory() -> None:
    torch = pytest.importorskip("torch")
    a, b = torch.arange(16.0), torch.arange(16.0) * 3
    table = torch.tensor([a.data_ptr(), b.data_ptr()], dtype=torch.int64)
    out = torch.zeros(32)
    through_pointers[(1,)](table, out, B=16)
    assert torch.equal(out, torch.cat([a, b]))


def _numpy_source(a: np.ndarray, holder: str) -> Any:
    """What keeps an array alive; nothing of it is an argument of the launch."""
    if holder == "list":
        return [a]
    if holder == "dict in a tuple":  # the garbage collector tracks neither
        return ({"a": a},)
    if holder == "attribute":
        return types.SimpleNamespace(a=a)
    if holder == "closure":
        return lambda: a
    if holder == "object array":
        return np.array([a, None], dtype=object)
    return a[2:]  # a view keeps the whole array


HOLDERS = ["list", "dict in a tuple", "attribute", "closure", "object array", "view"]


@pytest.mark.parametrize("holder", [*HOLDERS, "local"])
def test_pointers_to_numpy_arrays_loaded_from_memory(holder: str) -> None:
    a = np.arange(16, dtype=np.float32)
    table = np.array([a.ctypes.data, a.ctypes.data], np.int64)
    kept = a if holder == "local" else _numpy_source(a, holder)
    if holder != "local":
        del a
    out = np.zeros(32, np.float32)
    through_pointers[(1,)](table, out, B=16)
    np.testing.assert_array_equal(out, np.tile(np.arange(16), 2))
    del kept


@blockscope.jit
def store_through_pointer(table):
    tl.store(tl.load(table).to(tl.pointer_type(tl.float32)) + 5, 1.0)


def test_a_finding_names_the_numpy_array_that_a_pointer_leads_to() -> None:
    held = [np.zeros((3, 4), np.float32)]
    held[0].setflags(write=False)
    with blockscope.check("asan") as report:
        store_through_pointer[(1,)](np.array([held[0].ctypes.data], np.int64))
    (finding,) = report.findings
    assert finding.code == "read-only-store" and finding.tensor == "<array of float32 [3, 4]>"
    assert finding.element == [1, 1]


def test_a_pointer_to_a_freed_numpy_array_belongs_to_nobody() -> None:
    table = np.array([np.zeros(1 << 20, np.float32).ctypes.data] * 2, np.int64)
    with pytest.raises(blockscope.errors.SanitizerError, match="belongs to no known tensor"):
        through_pointers[(1,)](table, np.zeros(32, np.float32), B=16)


@blockscope.jit
def atomics(x, old, KIND: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    if KIND == "add":
        before = tl.atomic_add(x + i, i + 1)
    elif KIND == "max":
        before = tl.atomic_max(x + i, 10)
    elif KIND == "min":
        before = tl.atomic_min(x + i, 10)
    elif KIND == "and":
        before = tl.atomic_and(x + i, 6)
    elif KIND == "or":
        before = tl.atomic_or(x + i, 8, sem="relaxed", scope="cta")
    elif KIND == "xor":
        before = tl.atomic_xor(x + i, 5)
    elif KIND == "xchg":
        before = tl.atomic_xchg(x + i, 3, sem="release")
    else:
        before = tl.atomic_cas(x + i, i, i * 100)
    tl.store(old + i, before)


_ATOMICS = {
    "add": lambda x, i: x + i.astype(x.dtype) + x.dtype.type(1),
    "max": lambda x, i: np.maximum(x, x.dtype.type(10)),
    "min": lambda x, i: np.minimum(x, x.dtype.type(10)),
    "and": lambda x, i: x & x.dtype.type(6),
    "or": lambda x, i: x | x.dtype.type(8),
    "xor": lambda x, i: x ^ x.dtype.type(5),
    "xchg": lambda x, i: np.full_like(x, 3),
    "cas": lambda x, i: np.where(x == i.astype(x.dtype), (i * 100).astype(x.dtype), x),
}


@pytest.mark.parametrize("kind", _ATOMICS)
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
def test_atomics(kind: str, dtype: str) -> None:
    i = np.arange(16)
    x = np.where(i % 3 == 0, i, 40 - i).astype(dtype)
    if dtype.startswith("int"):
        x[5] = x.dtype.type(-4)
    before, old = x.copy(), np.zeros_like(x)
    atomics[(1,)](x, old, KIND=kind, B=16)
    np.testing.assert_array_equal(old, before)
    np.testing.assert_array_equal(x, _ATOMICS[kind](before, i))


@blockscope.jit
def atomic_moves(x, out, n, SEM: tl.constexpr, SCOPE: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    read = "relaxed" if SEM == "relaxed" else "acquire"
    value = tl.atomic_load(x + i, mask=i < n, sem=read, scope=SCOPE)
    tl.atomic_store(out + i, value, mask=i < n, sem=SEM, scope=SCOPE)
    (out + B).atomic_store((x + n - 1).atomic_load())


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int16", "float16", "int32", "float32", "int64", "float64"]
)
@pytest.mark.parametrize("sem", ["relaxed", "release", None])
def test_atomic_loads_and_stores(dtype: str, sem: str | None) -> None:
    x = np.random.default_rng(1).integers(0, 100, 32).astype(dtype)
    out = np.zeros(33, dtype)
    atomic_moves[(1,)](x, out, 20, SEM=sem, SCOPE="sys" if sem else None, B=32)
    np.testing.assert_array_equal(out, np.concatenate([x[:20], out[20:32] * 0, x[19:20]]))


@blockscope.jit
def wrong_order(x, LOADS: tl.constexpr):
    if LOADS:
        tl.atomic_load(x, sem="release")
    else:
        tl.atomic_store(x, 1, sem="acquire")


@pytest.mark.parametrize(("loads", "orders"), [(True, "acquire"), (False, "release")])
def test_loads_cannot_release_and_stores_cannot_acquire(loads: bool, orders: str) -> None:
    with pytest.raises(Exception, match=f"sem is '.*', expected one of '{orders}', 'relaxed'"):
        wrong_order[(1,)](np.zeros(1, np.int32), LOADS=loads)


@blockscope.jit
def pass_on(data, flag, out, SEEN: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    if tl.program_id(0) == 0:  # the one that waits begins first
        matched = tl.atomic_poll(flag, 1, scope="gpu")
        tl.store(out + i, tl.load(data + i) + matched)
    else:
        tl.store(data + i, i + 10)
        tl.debug_barrier()
        tl.atomic_store(flag, SEEN)


@pytest.mark.parametrize("dtype", ["int16", "uint32", "int64"])
def test_a_poll_waits_for_another_program(dtype: str) -> None:
    data, out = np.zeros(16, np.int32), np.zeros(16, np.int32)
    with blockscope.check("tsan,asan") as checked:
        pass_on[(2,)](data, np.zeros(1, dtype), out, SEEN=1, B=16)
    assert checked.findings == []
    np.testing.assert_array_equal(out, np.arange(16) + 11)


def test_a_poll_for_what_never_comes_is_a_deadlock() -> None:
    x = np.zeros(16, np.int32)
    with pytest.raises(blockscope.SanitizerError, match="deadlock"):
        pass_on[(2,)](x, np.zeros(1, np.int32), x.copy(), SEEN=2, B=16)


@blockscope.jit
def poll_block(flags, out, TIMEOUT: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    if tl.program_id(0) == 0:
        tl.store(out + i, tl.atomic_poll(flags + i, i + 1, timeout_ns=TIMEOUT))
    else:  # one after the other, so that elements match at different times
        for k in range(B):
            tl.atomic_store(flags + k, k + 1, sem="release")


def test_elements_of_a_poll_wait_for_their_own_values() -> None:
    out = np.zeros(8, np.int32)
    poll_block[(2,)](np.zeros(8, np.int32), out, TIMEOUT=None, B=8)
    np.testing.assert_array_equal(out, 1)


@pytest.mark.parametrize("timeout", [0, 2_000_000])
def test_a_poll_ends_when_its_time_is_over(timeout: int) -> None:
    flags, out = np.array([1, 0, 3, 0], np.int32), np.full(4, 9, np.int32)
    poll_block[(1,)](flags, out, TIMEOUT=timeout, B=4)
    np.testing.assert_array_equal(out, [1, 0, 1, 0])


@blockscope.jit
def timed(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    begin = tl.extra.cuda.globaltimer()
    for _ in range(100):
        tl.store(x + i, tl.load(x + i) + 1)
    tl.store(out, begin)
    tl.store(out + 1, tl.extra.cuda.globaltimer())


def test_the_clock_goes_on() -> None:
    out = np.zeros(2, np.int64)
    timed[(1,)](np.zeros(16, np.int32), out, B=16)
    assert 0 < out[1] - out[0] < 10**10


def test_a_poll_of_what_is_no_integer_is_an_error() -> None:
    with pytest.raises(Exception, match="expected integers of 16, 32 or 64 bits"):
        pass_on[(2,)](np.zeros(16), np.zeros(1, np.float32), np.zeros(16), SEEN=1, B=16)


@blockscope.jit
def float_atomics(x, old, KIND: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    if KIND == "add":
        before = tl.atomic_add(x + i, 0.5, mask=i < 12)
    elif KIND == "max":
        before = tl.atomic_max(x + i, 2.0, mask=i < 12)
    elif KIND == "min":
        before = tl.atomic_min(x + i, 2.0, mask=i < 12)
    else:
        before = tl.atomic_xchg(x + i, 2.0, mask=i < 12)
    tl.store(old + i, before, mask=i < 12)


@pytest.mark.parametrize("kind", ["add", "max", "min", "xchg"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_float_atomics(kind: str, dtype: str) -> None:
    x = np.linspace(-8, 8, 16).astype(dtype)
    before, old = x.copy(), x.copy()
    float_atomics[(1,)](x, old, KIND=kind, B=16)
    changed = {
        "add": before + before.dtype.type(0.5),
        "max": np.maximum(before, 2),
        "min": np.minimum(before, 2),
        "xchg": np.full_like(before, 2),
    }[kind]
    np.testing.assert_array_equal(old, before)
    np.testing.assert_array_equal(x, np.where(np.arange(16) < 12, changed, before))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_atomic_add(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    x = torch.linspace(-8, 8, 16).to(getattr(torch, dtype))
    before, old = x.clone(), x.clone()
    float_atomics[(1,)](x, old, KIND="add", B=16)
    assert torch.equal(old, before)
    assert torch.equal(x[:12], before[:12] + 0.5)
    assert torch.equal(x[12:], before[12:])


@blockscope.jit
def count(counter, B: tl.constexpr):
    tl.atomic_add(counter + tl.zeros((B,), tl.int32), 1)


def test_all_lanes_and_programs_count() -> None:
    counter = np.zeros(1, np.int32)
    count[(50,)](counter, B=32)
    assert counter[0] == 1600


@blockscope.jit
def transpose_blocks(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    a = tl.make_block_ptr(
        x, shape=(M, N), strides=(N, 1), offsets=(tl.program_id(0) * BM, 0),
        block_shape=(BM, BN), order=(1, 0),
    )  # fmt: skip
    b = tl.make_block_ptr(
        out, shape=(N, M), strides=(M, 1), offsets=(0, tl.program_id(0) * BM),
        block_shape=(BN, BM), order=(1, 0),
    )  # fmt: skip
    for _ in range(0, N, BN):
        block = tl.load(a, boundary_check=(0, 1), padding_option="zero")
        tl.store(b, tl.trans(block).to(out.dtype.element_ty), boundary_check=(0, 1))
        a = tl.advance(a, (0, BN))
        b = tl.advance(b, (BN, 0))


def test_block_pointers_move_and_stop_at_the_boundary() -> None:
    x = np.arange(50 * 70, dtype=np.float32).reshape(50, 70)
    out = np.zeros((70, 50), np.float32)
    transpose_blocks[(4,)](x, out, 50, 70, BM=16, BN=32)
    np.testing.assert_array_equal(out, x.T)


@blockscope.jit
def padded(x, out, n, PAD: tl.constexpr, B: tl.constexpr):
    p = tl.make_block_ptr(x, (n,), (1,), (0,), (B,), (0,))
    tl.store(out + tl.arange(0, B), tl.load(p, boundary_check=(0,), padding_option=PAD))


@pytest.mark.parametrize(("padding", "value"), [("zero", 0), ("nan", np.nan)])
def test_padding_of_block_pointers(padding: str, value: float) -> None:
    x, out = np.arange(16, dtype=np.float32), np.ones(16, np.float32)
    padded[(1,)](x, out, 11, PAD=padding, B=16)
    np.testing.assert_array_equal(out, np.where(np.arange(16) < 11, x, np.float32(value)))


@blockscope.jit
def converted(x, out, n, B: tl.constexpr):
    p = tl.make_block_ptr(x, (n,), (1,), (0,), (B,), (0,))
    q = tl.make_block_ptr(out, (n,), (1,), (0,), (B,), (0,))
    tl.static_assert(q.dtype.element_ty.element_ty == tl.float16)
    value = tl.load(p, boundary_check=(0,)) + tl.zeros((B,), q.dtype.element_ty.element_ty)
    tl.store(q, value.to(q.dtype.element_ty), boundary_check=(0,))


def test_the_dtype_of_a_block_pointer_is_a_pointer_to_a_block() -> None:
    x, out = np.arange(11, dtype=np.float32), np.zeros(11, np.float16)
    converted[(1,)](x, out, 11, B=16)
    np.testing.assert_array_equal(out, x)


@blockscope.jit
def through_descriptors(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    a = tl.make_tensor_descriptor(x, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    b = tl.make_tensor_descriptor(out, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    block = a.load([row, column])
    b.store([row, column], block * 2)
    tl.static_assert(a.dtype == tl.float32)
    tl.static_assert(a.block_shape[1] == BN)


def test_descriptors() -> None:
    x = np.arange(40 * 36, dtype=np.float32).reshape(40, 36)
    out = np.zeros_like(x)
    through_descriptors[(3, 2)](x, out, 40, 36, BM=16, BN=32)
    np.testing.assert_array_equal(out, 2 * x)


@blockscope.jit
def by_function_of_descriptors(x, out, N, B: tl.constexpr):
    a = tl.make_tensor_descriptor(x, shape=[N], strides=[1], block_shape=[B])
    b = tl.make_tensor_descriptor(out, shape=[N], strides=[1], block_shape=[B])
    start = tl.program_id(0) * B
    tl.store_tensor_descriptor(b, [start], tl.load_tensor_descriptor(a, [start]) + 1)


def test_functions_that_load_and_store_by_a_descriptor() -> None:
    x, out = np.arange(40, dtype=np.float32), np.zeros(40, np.float32)
    by_function_of_descriptors[(3,)](x, out, 40, B=16)
    np.testing.assert_array_equal(out, x + 1)


@blockscope.jit
def write_constant(x: tl.const, out):
    tl.store(x, tl.load(out))


def test_store_through_const() -> None:
    with pytest.raises(Exception, match=r"tl.store: Cannot store to a constant pointer"):
        write_constant[(1,)](np.zeros(4, np.float32), np.zeros(4, np.float32))


@blockscope.jit
def with_host_descriptors(source, target):
    row, column = tl.program_id(0) * 16, tl.program_id(1) * 32
    block = source.load([row, column])
    target.store([row, column], block + 1)


def test_descriptors_of_the_host() -> None:
    from blockscope.tools.tensor_descriptor import TensorDescriptor

    torch = pytest.importorskip("torch")
    x = torch.arange(40.0 * 36).reshape(40, 36)
    out = torch.zeros_like(x)
    source = TensorDescriptor.from_tensor(x, [16, 32])
    target = TensorDescriptor(out, [40, 36], [36, 1], [16, 32])
    with_host_descriptors[(3, 2)](source, target)
    assert torch.equal(out, x + 1)
