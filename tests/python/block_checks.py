"""Kernels that move values between threads, checked against NumPy: what tests on a GPU and tests
with ptx_machine.py share. `launch(kernel, arguments, warps, constants)` runs one program and
changes the arrays among the arguments in place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import blockscope as triton
import blockscope.language as tl
import numpy as np
from blockscope.language.core import builtin

Launch = Callable[..., None]

SHAPES_1D = [(1,), (2,), (16,), (32,), (128,), (1024,)]
SHAPES_2D = [(1, 1), (4, 8), (1, 64), (64, 1), (32, 32), (16, 128), (128, 16)]
SHAPES = SHAPES_1D + SHAPES_2D + [(4, 8, 16)]
AXES = [(shape, axis) for shape in SHAPES for axis in range(len(shape))]


def numbers(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray:
    """Small whole numbers, some of them equal: sums of them are exact in every type."""
    values = np.random.default_rng(seed).integers(-9, 10, shape)
    return values > 0 if dtype == "bool" else values.astype(dtype)


@triton.jit
def load_block(pointer, SHAPE: tl.constexpr, FLIP: tl.constexpr):
    """A block loaded in row-major order, or in an order that gives it another layout."""
    if len(SHAPE) == 1:
        return tl.load(pointer + tl.arange(0, SHAPE[0]))
    if len(SHAPE) == 3:
        count: tl.constexpr = SHAPE[0] * SHAPE[1] * SHAPE[2]
        return tl.load(pointer + tl.arange(0, count)).reshape(SHAPE[0], SHAPE[1], SHAPE[2])
    rows, columns = tl.arange(0, SHAPE[0]), tl.arange(0, SHAPE[1])
    if FLIP:
        return tl.trans(tl.load(pointer + columns[:, None] + rows[None, :] * SHAPE[1]))
    return tl.load(pointer + rows[:, None] * SHAPE[1] + columns[None, :])


@triton.jit
def store_result(pointer, x):
    """Stores cast: what is held to a reference must have its dtype before."""
    tl.static_assert(x.dtype == pointer.dtype.element_ty, "the result has another dtype")
    tl.store(pointer, x)


@triton.jit
def store_block(pointer, x):
    if x.numel == 1 and len(x.shape) == 0:
        store_result(pointer, x)
    else:
        store_result(pointer + tl.arange(0, x.numel), x.reshape(x.numel))


@triton.jit
def map_kernel(x_ptr, out_ptr, CALL: tl.constexpr, SHAPE: tl.constexpr, FLIP: tl.constexpr):
    store_block(out_ptr, CALL(load_block(x_ptr, SHAPE, FLIP)))


@triton.jit
def map_two_kernel(
    x_ptr, a_ptr, b_ptr, CALL: tl.constexpr, SHAPE: tl.constexpr, FLIP: tl.constexpr
):
    a, b = CALL(load_block(x_ptr, SHAPE, FLIP))
    store_block(a_ptr, a)
    store_block(b_ptr, b)


def run_map(launch: Launch, call: Any, x: np.ndarray, like: np.ndarray, warps: int,
            flip: bool = False) -> np.ndarray:  # fmt: skip
    out = np.zeros(max(like.size, 1), like.dtype)
    launch(map_kernel, [x, out], warps, {"CALL": builtin(call), "SHAPE": x.shape, "FLIP": flip})
    return out.reshape(like.shape)


def equal(found: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_array_equal(found, expected)


# -- reductions -----------------------------------------------------------------------------------


@triton.jit
def linear_maps(a0, b0, a1, b1):
    """x -> a0 x + b0 after x -> a1 x + b1: associative, and the order matters."""
    return a0 * a1, a0 * b1 + b0


def check_sum(launch: Launch, shape: Any, axis: int, dtype: str, warps: int, flip: bool) -> None:
    x = numbers(shape, dtype)
    expected = x.sum(axis).astype(dtype)
    equal(run_map(launch, lambda v: tl.sum(v, axis), x, expected, warps, flip), expected)


def check_extremes(launch: Launch, shape: Any, axis: int, warps: int) -> None:
    x = numbers(shape, "float32")
    for call, expected in [
        (lambda v: tl.max(v, axis), x.max(axis)),
        (lambda v: tl.min(v, axis), x.min(axis)),
        (lambda v: tl.argmax(v, axis), x.argmax(axis).astype(np.int32)),
        (lambda v: tl.argmin(v, axis), x.argmin(axis).astype(np.int32)),
    ]:
        equal(run_map(launch, call, x, expected, warps), expected)


@triton.jit
def reduce_ints_kernel(x_ptr, out_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    store_result(out_ptr, tl.sum(x))
    store_result(out_ptr + 1, tl.max(x))
    store_result(out_ptr + 2, tl.min(x))
    store_result(out_ptr + 3, tl.xor_sum(x))


def check_integers(launch: Launch, dtype: str, count: int, warps: int) -> None:
    """Four reductions in a row: their scratch memory must not be mixed up."""
    info = np.iinfo(dtype)
    x = np.random.default_rng(1).integers(info.min, info.max, count, dtype=dtype)
    out = np.zeros(4, dtype)
    launch(reduce_ints_kernel, [x, out], warps, {"N": count})
    equal(out, np.array([x.sum(dtype=dtype), x.max(), x.min(), np.bitwise_xor.reduce(x)], dtype))


@triton.jit
def loop_kernel(x_ptr, out_ptr, rows, N: tl.constexpr):
    total = tl.zeros((N,), tl.int32)
    best = 0
    for row in range(rows):
        x = tl.load(x_ptr + row * N + tl.arange(0, N))
        total += tl.cumsum(x) * tl.sum(x)
        if row % 2 == 1:
            best += tl.max(x)
    store_result(out_ptr + tl.arange(0, N), total + best)


def check_loop(launch: Launch, count: int, warps: int) -> None:
    x = numbers((5, count), "int32")
    out = np.zeros(count, np.int32)
    launch(loop_kernel, [x, out, 5], warps, {"N": count})
    expected = (x.cumsum(1) * x.sum(1, keepdims=True)).sum(0) + x[1::2].max(1).sum()
    equal(out, expected.astype(np.int32))


# -- scans ----------------------------------------------------------------------------------------


def check_cumsum(launch: Launch, shape: Any, axis: int, dtype: str, warps: int, reverse: bool,
                 flip: bool) -> None:  # fmt: skip
    x = numbers(shape, dtype)
    expected = np.flip(np.flip(x, axis).cumsum(axis), axis) if reverse else x.cumsum(axis)
    expected = expected.astype(dtype)
    call = lambda v: tl.cumsum(v, axis, reverse=reverse)
    equal(run_map(launch, call, x, expected, warps, flip), expected)


def check_ordered_scan(launch: Launch, shape: Any, axis: int, warps: int, reverse: bool) -> None:
    """A combine of two values for which the order matters; modulo 2^32 it is exact."""
    x = numbers(shape, "int32") | 1
    results = [np.zeros(x.size, np.int32) for _ in range(2)]
    call = lambda v: tl.associative_scan((v, v + 3), axis, linear_maps, reverse=reverse)
    launch(
        map_two_kernel, [x, *results], warps, {"CALL": builtin(call), "SHAPE": shape, "FLIP": False}
    )
    a = np.moveaxis(x, axis, 0).astype(np.int64)
    b = a + 3
    if reverse:
        a, b = a[::-1], b[::-1]
    sums = [(a[0], b[0])]
    for i in range(1, len(a)):
        p, q = sums[-1]
        sums.append(tuple(v.astype(np.int32).astype(np.int64) for v in (p * a[i], p * b[i] + q)))
    for k, found in enumerate(results):
        whole = np.stack([step[k] for step in sums])
        whole = np.moveaxis(whole[::-1] if reverse else whole, 0, axis)
        equal(found.reshape(shape), whole.astype(np.int32))


# -- sorting, gathering, counting -----------------------------------------------------------------


def check_sort(launch: Launch, shape: Any, dtype: str, warps: int, descending: bool,
               flip: bool) -> None:  # fmt: skip
    random = np.random.default_rng(3)
    if dtype.startswith("float"):
        x = random.standard_normal(shape).astype(dtype)
        x.reshape(-1)[:: max(1, x.size // 4)] = np.inf
    elif dtype == "bool":
        x = random.integers(0, 2, shape).astype(bool)
    else:
        info = np.iinfo(dtype)
        x = random.integers(info.min, info.max, shape, dtype=dtype)
    expected = np.sort(x, axis=-1)
    expected = expected[..., ::-1] if descending else expected
    call = lambda v: tl.sort(v, descending=descending)
    equal(run_map(launch, call, x, expected, warps, flip), expected)


def check_sort_specials(launch: Launch, dtype: str, warps: int) -> None:
    bits = {"float16": "u2", "float32": "u4", "float64": "u8"}[dtype]
    x = np.array([np.nan, -0.0, 0.0, -np.inf, np.inf, -np.nan, 1, -1] * 8, dtype)
    out = np.zeros_like(x)
    call = lambda v: tl.sort(v)
    launch(map_kernel, [x, out], warps, {"CALL": builtin(call), "SHAPE": x.shape, "FLIP": False})
    expected = np.repeat(np.array([-np.inf, -1, -0.0, 0.0, 1, np.inf, np.nan, np.nan], dtype), 8)
    expected[-16:] = np.abs(expected[-16:])
    equal(out.view(bits), expected.view(bits))


@triton.jit
def gather_kernel(x_ptr, i_ptr, out_ptr, AXIS: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
                  OUT_R: tl.constexpr, OUT_C: tl.constexpr):  # fmt: skip
    x = tl.load(x_ptr + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :])
    places = tl.arange(0, OUT_R)[:, None] * OUT_C + tl.arange(0, OUT_C)[None, :]
    store_result(out_ptr + places, tl.gather(x, tl.load(i_ptr + places), AXIS))


def check_gather(launch: Launch, shape: tuple[int, int], axis: int, length: int, dtype: str,
                 index: str, warps: int) -> None:  # fmt: skip
    x = numbers(shape, dtype)
    out_shape = (length, shape[1]) if axis == 0 else (shape[0], length)
    places = np.random.default_rng(4).integers(0, shape[axis], out_shape).astype(index)
    out = np.zeros(out_shape, x.dtype)
    sizes = {
        "R": shape[0],
        "C": shape[1],
        "OUT_R": out_shape[0],
        "OUT_C": out_shape[1],
    }
    launch(gather_kernel, [x, places, out], warps, {"AXIS": axis, **sizes})
    equal(out, np.take_along_axis(x, places.astype(np.int64), axis))


@triton.jit
def histogram_kernel(x_ptr, out_ptr, limit, N: tl.constexpr, BINS: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    counts = tl.histogram(x, BINS, mask=tl.arange(0, N) < limit)
    store_result(out_ptr + tl.arange(0, BINS), counts)


def check_histogram(launch: Launch, count: int, bins: int, dtype: str, warps: int) -> None:
    x = np.random.default_rng(5).integers(0, min(2 * bins, 127), count).astype(dtype)
    if np.dtype(dtype).kind == "i":
        x[::7] = -1
    out, limit = np.zeros(bins, np.int32), count - count // 4
    launch(histogram_kernel, [x, out, limit], warps, {"N": count, "BINS": bins})
    kept = x[:limit].astype(np.int64)
    equal(out, np.bincount(kept[(kept >= 0) & (kept < bins)], minlength=bins).astype(np.int32))


# -- atomics --------------------------------------------------------------------------------------


@triton.jit
def atomic_kernel(x_ptr, i_ptr, v_ptr, old_ptr, limit, KIND: tl.constexpr, SEM: tl.constexpr,
                  SCOPE: tl.constexpr, N: tl.constexpr, KEEP: tl.constexpr):  # fmt: skip
    offsets = tl.arange(0, N)
    places = tl.load(i_ptr + offsets)
    values = tl.load(v_ptr + offsets)
    old = KIND(x_ptr + places, values, mask=offsets < limit, sem=SEM, scope=SCOPE)
    if KEEP:
        store_result(old_ptr + offsets, old)


KINDS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "max": max,
    "min": min,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "xchg": lambda a, b: b,
}


def check_atomic(launch: Launch, kind: str, dtype: str, count: int, warps: int,
                 sem: str = "acq_rel", scope: str = "gpu", keep: bool = True,
                 spread: int = 1) -> None:  # fmt: skip
    """Each element is changed once: by `spread` elements of the block, or by one."""
    random = np.random.default_rng(6)
    x = random.integers(0, 50, count).astype(dtype)
    values = random.integers(0, 50, count).astype(dtype)
    places = (random.permutation(count) // spread).astype(np.int32)
    limit = count - count // 8
    before, old = x.copy(), np.zeros(count, dtype)
    constants = {
        "KIND": getattr(tl, f"atomic_{kind}"),
        "SEM": sem,
        "SCOPE": scope,
        "N": count,
        "KEEP": keep,
    }
    launch(atomic_kernel, [x, places, values, old, limit], warps, constants)
    expected, combine = before.copy(), KINDS[kind]
    for place, value in zip(places[:limit], values[:limit]):
        expected[place] = combine(expected[place], value)
    equal(x, expected)
    if keep and spread == 1:
        equal(old[:limit], before[places[:limit]])
        equal(old[limit:], np.zeros(count - limit, dtype))


@triton.jit
def scalar_atomic_kernel(x_ptr, out_ptr, N: tl.constexpr):
    first = tl.atomic_add(x_ptr, 5)
    second = tl.atomic_cas(x_ptr, first + 5, 100)
    third = tl.atomic_xchg(x_ptr, first + second)
    tl.atomic_max(x_ptr + 1, third)
    store_result(
        out_ptr + tl.arange(0, N), first + 1000 * second + third + tl.zeros((N,), tl.int32)
    )


def check_scalar_atomics(launch: Launch, count: int, warps: int) -> None:
    """Every thread has the result of a scalar atomic, and only one makes it."""
    x, out = np.array([7, -1], np.int32), np.zeros(count, np.int32)
    launch(scalar_atomic_kernel, [x, out], warps, {"N": count})
    equal(x, np.array([19, 100], np.int32))
    equal(out, np.full(count, 7 + 12000 + 100, np.int32))


@triton.jit
def move_kernel(x_ptr, i_ptr, out_ptr, limit, SEM: tl.constexpr, SCOPE: tl.constexpr,
                N: tl.constexpr):  # fmt: skip
    offsets = tl.arange(0, N)
    places = tl.load(i_ptr + offsets)
    read: tl.constexpr = "relaxed" if SEM == "relaxed" else "acquire"
    values = tl.atomic_load(x_ptr + places, mask=offsets < limit, sem=read, scope=SCOPE)
    tl.atomic_store(out_ptr + places, values, mask=offsets < limit, sem=SEM, scope=SCOPE)
    tl.atomic_store(out_ptr + N, tl.atomic_load(x_ptr))


def check_atomic_moves(launch: Launch, dtype: str, count: int, warps: int, sem: str = "release",
                       scope: str = "gpu") -> None:  # fmt: skip
    x, out = numbers((count,), dtype), np.zeros(count + 1, dtype)
    places = np.random.default_rng(6).permutation(count).astype(np.int32)
    limit = count - count // 8
    constants = {"SEM": sem, "SCOPE": scope, "N": count}
    launch(move_kernel, [x, places, out, limit], warps, constants)
    expected = np.zeros(count + 1, dtype)
    expected[places[:limit]] = x[places[:limit]]
    expected[count] = x[0]
    equal(out, expected)


@triton.jit
def poll_kernel(x_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    seen = tl.atomic_poll(x_ptr, 5)
    late = tl.atomic_poll(x_ptr, 6, timeout_ns=0)
    each = tl.atomic_poll(x_ptr + offsets, offsets + 5, timeout_ns=50)
    store_result(out_ptr + offsets, seen.to(tl.int32) + 2 * late + 4 * each)


def check_poll(launch: Launch, count: int, warps: int) -> None:
    """Every thread knows how a poll ended; here all values are there, or never come."""
    x, out = np.arange(5, count + 5, dtype=np.int32), np.zeros(count, np.int32)
    x[1::3] = 0
    launch(poll_kernel, [x, out], warps, {"N": count})
    equal(out, (1 + 4 * (x != 0)).astype(np.int32))


@triton.jit
def cas_kernel(x_ptr, expected_ptr, value_ptr, old_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    old = tl.atomic_cas(
        x_ptr + offsets, tl.load(expected_ptr + offsets), tl.load(value_ptr + offsets)
    )
    store_result(old_ptr + offsets, old)


def check_cas(launch: Launch, dtype: str, count: int, warps: int) -> None:
    x = numbers((count,), dtype)
    expected = np.where(np.arange(count) % 3 == 0, x + 1, x).astype(dtype)
    values, old = numbers((count,), dtype, 8), np.zeros(count, dtype)
    before = x.copy()
    launch(cas_kernel, [x, expected, values, old], warps, {"N": count})
    equal(old, before)
    equal(x, np.where(np.arange(count) % 3 == 0, before, values))


# -- conversions ----------------------------------------------------------------------------------


@triton.jit
def transpose_kernel(x_ptr, out_ptr, R: tl.constexpr, C: tl.constexpr):
    rows, columns = tl.arange(0, R), tl.arange(0, C)
    x = tl.load(x_ptr + rows[:, None] * C + columns[None, :])
    store_result(out_ptr + columns[:, None] * R + rows[None, :], tl.trans(x))


def check_transpose(launch: Launch, shape: tuple[int, int], dtype: str, warps: int) -> None:
    x = numbers(shape, dtype)
    out = np.zeros(shape[::-1], x.dtype)
    launch(transpose_kernel, [x, out], warps, {"R": shape[0], "C": shape[1]})
    equal(out, x.T)


@triton.jit
def pointers_kernel(x_ptr, out_ptr, R: tl.constexpr, C: tl.constexpr):
    """Pointers that change their layout between two accesses."""
    rows, columns = tl.arange(0, R), tl.arange(0, C)
    mask = tl.load(x_ptr + rows[:, None] * C + columns[None, :]) > 0
    pointers = tl.where(mask, x_ptr + rows[:, None] * C + columns[None, :], x_ptr)
    store_result(out_ptr + columns[:, None] * R + rows[None, :], tl.load(tl.trans(pointers)))


def check_pointers(launch: Launch, shape: tuple[int, int], warps: int) -> None:
    x = numbers(shape, "int32")
    out = np.zeros(shape[::-1], x.dtype)
    launch(pointers_kernel, [x, out], warps, {"R": shape[0], "C": shape[1]})
    equal(out, np.where(x > 0, x, x[0, 0]).T)
