"""Launches share a compiled kernel only when what was compiled in has the same type and bits."""

import dataclasses
import enum
import math
import struct
import sys
import types
from fractions import Fraction
from typing import Any, NamedTuple

import blockscope as triton
import blockscope.language as tl
import numpy as np
import pytest
import torch
from blockscope import knobs


def nan(payload: int) -> float:
    return struct.unpack("<d", struct.pack("<Q", 0x7FF8 << 48 | payload))[0]


@triton.jit
def store_value(out, VALUE: tl.constexpr):
    tl.store(out, VALUE)


@triton.jit
def add_first(x, out, PAIR: tl.constexpr):
    tl.store(out, tl.load(x) + PAIR[0])


@triton.jit
def add_inner(x, out, NEST: tl.constexpr):
    tl.store(out, tl.load(x) + NEST[0][0])


def stored(value):
    out = torch.full((1,), 7.0, dtype=torch.float64)
    store_value[(1,)](out, VALUE=value)
    return out[0].item()


def sum_with(kernel, value):
    x = torch.tensor([2**24 + 1], dtype=torch.int32)
    out = torch.zeros(1, dtype=torch.float64)
    kernel[(1,)](x, out, value)
    return out[0].item()


def test_zeros_of_both_signs():
    for value in (0.0, -0.0, 0.0, -0.0):
        assert math.copysign(1, stored(value)) == math.copysign(1, value)


def test_items_of_tuples_keep_their_type():
    for _ in range(2):
        # In fp32 the sum is rounded.
        assert sum_with(add_first, (1, 2)) == 2**24 + 2
        assert sum_with(add_first, (1.0, 2)) == 2**24
        assert sum_with(add_inner, ((1, 2), 3)) == 2**24 + 2
        assert sum_with(add_inner, ((1.0, 2), 3)) == 2**24


def test_options_in_the_metadata_are_those_of_the_launch():
    out = torch.zeros(1)
    for num_warps in (8, 2, 8):
        kernel = store_value[(1,)](out, VALUE=1.5, num_warps=num_warps)
        assert kernel.metadata.num_warps == num_warps


class Pair(NamedTuple):
    a: Any
    b: Any


class OtherPair(NamedTuple):
    a: Any
    b: Any


@dataclasses.dataclass(frozen=True)
class Frozen:
    value: Any


@dataclasses.dataclass
class Open:
    value: Any


class Slots:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return self.value == other.value

    def __hash__(self):
        return hash(self.value)


class Colour(enum.IntEnum):
    RED = 1


class Number(int):
    pass


def one_way():
    pass


def other_way():
    pass


def key(value):
    from blockscope._core import LaunchKey

    return LaunchKey(value)


#: Values of which no two compile to the same kernel, whatever Python's == says.
DIFFERENT = [
    None, False, True, 0, 1, -1, 2**40, 2**63, 2**63 + 1, 2**200, -(2**63), 0.0, -0.0, 1.0, 1.5,
    nan(0), nan(1), -nan(0), float("inf"), 0j, complex(0, -0.0), complex(-0.0, 0), "", "1", "a",
    b"", b"a", Ellipsis, (), (0,), (0.0,), (-0.0,), (1,), (True,), (1.0,), (1, 2), (1.0, 2), (2, 1),
    ((1, 2), 3), ((1.0, 2), 3), ((1,), 2, 3), (1, (2, 3)), (nan(0),), (nan(1),), (None,), ("a",),
    [], [1], [1.0], [[1]], [(1,)], {}, {"a": 1}, {"a": 1.0}, {"b": 1}, {1: "a"}, {1.0: "a"},
    {0.0}, {-0.0}, {0}, frozenset({0}), frozenset({-0.0}), Pair(1, 2), Pair(1.0, 2), Pair(True, 2),
    OtherPair(1, 2), Frozen(0.0), Frozen(-0.0), Frozen(1), Frozen((1,)), Frozen((True,)),
    Open(0.0), Open(-0.0), Open([0]), Slots(0.0), Slots(-0.0), Slots(0), Colour.RED, Number(1),
    (Number(1),), np.float32(0.0), np.float32(-0.0), np.float64(0.0), np.float64(-0.0),
    np.float16(0), np.int32(0), np.int64(0), np.uint8(0), np.bool_(False), np.float32("nan"),
    np.str_("a"), tl.float32, tl.float16, tl.int1, tl.pointer_type(tl.float32),
    tl.pointer_type(tl.float16), tl.pointer_type(tl.float32, const=True), float, int, bool,
    np.float32, one_way, other_way, store_value, add_first, math, math.sin, math.cos, range(3),
    range(4), slice(0, 1), slice(0, True), slice(0, 1.0), Fraction(1, 2), Fraction(0),
    torch.float32, torch.float16, torch.Size((1, 2)), tl.constexpr, (tl.constexpr(1),),
    (tl.constexpr(1.0),), tl.core.tuple((1, 2)), tl.core.tuple((1, 2), ("a", "b")),
    tl.core.tuple((1.0, 2)), tl.core.PropagateNan.ALL, object(), object(),
]  # fmt: skip

#: Makes a value anew, which is another object, and compiles to the same kernel.
MADE_ANEW = [
    lambda: 2**70,
    lambda: float("1.25"),
    lambda: nan(3),
    lambda: complex(1, -0.0),
    lambda: "".join(["a", "bc"]),
    lambda: bytes([1, 2]),
    lambda: (1, (2.0, "ab" * 2), None, [nan(1)]),
    lambda: {"a": [1, {2: -0.0}]},
    lambda: {3, 4.5, "a"},
    lambda: Pair(1, (2,)),
    lambda: Frozen((1.0, "a")),
    lambda: Open([1.0, "a"]),
    lambda: Slots((1.0, "a")),
    lambda: Number(5),
    lambda: np.float32(1.5),
    lambda: np.float32("nan"),
    lambda: tl.pointer_type(tl.float32),
    lambda: tl.constexpr((1, 2.0)),
    lambda: tl.core.tuple((1, tl.constexpr(2)), ("a", "b")),
    lambda: Fraction(1, 3),
    lambda: range(1, 5),
    lambda: slice(1, None),
    lambda: torch.Size((3, 4)),
    lambda: dict(zip("ab", [1, 2], strict=True)),
]


def test_no_two_different_values_share_a_key():
    keys = [key(value) for value in DIFFERENT]
    assert len(set(keys)) == len(keys)
    for i, one in enumerate(keys):
        for j, other in enumerate(keys):
            assert (one == other) is (i == j), (DIFFERENT[i], DIFFERENT[j])
            assert (one != other) is (i != j)


@pytest.mark.parametrize("make", MADE_ANEW)
def test_a_value_made_anew_has_the_same_key(make):
    one, other = key(make()), key(make())
    assert one == other and hash(one) == hash(other)
    assert key((make(), 1)) == key((make(), 1)) != key((make(), 1.0))


def test_a_key_keeps_what_the_value_was():
    changing = [1, 2]
    before = key(changing)
    changing[0] = 1.0
    assert key(changing) != before == key([1, 2])
    held = Open(1)
    before = key(held)
    held.value = 2
    assert key(held) != before == key(Open(1))


def test_values_that_hold_themselves():
    ring: list[Any] = [1]
    ring.append(ring)
    other: list[Any] = [1]
    other.append(other)
    assert key(ring) == key(other) != key([1, [1]])


def test_a_constexpr_is_its_value():
    assert key(tl.constexpr(1)) == key(1) != key(tl.constexpr(1.0))
    assert key(tl.constexpr(tl.constexpr(-0.0))) == key(-0.0)


def test_keys_are_collected():
    import gc
    import weakref

    class Mark:
        pass

    mark = Mark()
    mark.key = key((mark, 1))
    gone = weakref.ref(mark)
    del mark
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    "values",
    [
        [0.0, -0.0, 1.5, math.inf, math.nan, -nan(5)],
        [2, 3, 100, -5, 2**31 - 1, 0],
        [2**40, -(2**40), 2**63 - 1],
        [True, False],
        [np.float32(1.5), np.float64(-0.0), 2.5],
        [np.int32(5), np.int64(7), 9],
    ],
)
def test_run_time_numbers_share_a_kernel(values):
    @triton.jit
    def store_number(out, value):
        tl.store(out, value)

    out = torch.zeros(1, dtype=torch.float64)
    for value in [*values, *values]:
        store_number[(1,)](out, value)
        assert struct.pack("<d", out[0].item()) == struct.pack("<d", float(np.float32(value) if isinstance(value, float) else value))  # noqa: E501 # fmt: skip
    assert len(store_number.codes) == 1


def test_a_nan_is_compiled_once():
    @triton.jit
    def store_nan(out, VALUE: tl.constexpr):
        tl.store(out, VALUE)

    out = torch.zeros(1)
    for _ in range(3):
        store_nan[(1,)](out, VALUE=float("nan"))
    assert len(store_nan.kernels) == 1


# -- settings -----------------------------------------------------------------------------------


@triton.jit
def product(x, y, out):
    i = tl.arange(0, 16)
    at = i[:, None] * 16 + i[None, :]
    tl.store(out + at, tl.dot(tl.load(x + at), tl.load(y + at)))


def test_the_default_precision_of_dot(monkeypatch):
    x = torch.full((16, 16), 1 + 2**-20)
    results = []
    for precision in ("ieee", "tf32", "ieee", ""):
        monkeypatch.setenv("TRITON_F32_DEFAULT", precision)
        out = torch.zeros(16, 16)
        product[(1,)](x, torch.eye(16), out)
        results.append(out[0, 0].item())
    assert results == [1 + 2**-20, 1.0, 1 + 2**-20, 1 + 2**-20]


def test_the_default_precision_as_a_knob():
    x = torch.full((16, 16), 1 + 2**-20)
    results = []
    with knobs.language.scope():
        for precision in ("ieee", "tf32", "ieee"):
            knobs.language.fp32_default = precision
            out = torch.zeros(16, 16)
            product[(1,)](x, torch.eye(16), out)
            results.append(out[0, 0].item())
    assert results == [1 + 2**-20, 1.0, 1 + 2**-20]


PLAIN = 3


@triton.jit
def store_plain(out):
    tl.store(out, PLAIN)


def test_permission_for_plain_module_variables(monkeypatch):
    out = torch.zeros(1)
    monkeypatch.setenv("TRITON_ALLOW_NON_CONSTEXPR_GLOBALS", "1")
    store_plain[(1,)](out)
    assert out[0] == 3
    monkeypatch.delenv("TRITON_ALLOW_NON_CONSTEXPR_GLOBALS")
    with pytest.raises(triton.CompilationError, match="Cannot access global variable PLAIN"):
        store_plain[(1,)](out)


# -- what a kernel read when it was compiled ------------------------------------------------------

FACTOR = tl.constexpr(2)
SIZES = tl.core.tuple((1, 2))
settings = types.ModuleType("settings")
settings.FACTOR = 2  # type: ignore[attr-defined]


class Config:
    FACTOR = 2


@triton.jit
def twice(x):
    return x * 2


@triton.jit
def thrice(x):
    return x * 3


chosen = twice


@triton.jit
def by_variable(out):
    tl.store(out, tl.load(out) * FACTOR)


@triton.jit
def by_module(out):
    tl.store(out, tl.load(out) * settings.FACTOR)


@triton.jit
def by_class(out):
    tl.store(out, tl.load(out) * Config.FACTOR)


@triton.jit
def by_function(out):
    tl.store(out, chosen(tl.load(out)))


@triton.jit
def by_tuple(out):
    tl.store(out, tl.load(out) + SIZES[0])


def result_of(kernel):
    out = torch.tensor([2**24 + 1], dtype=torch.int32)
    kernel[(1,)](out)
    return out[0].item() - 2**24 - 1


def scaled(kernel):
    out = torch.ones(1)
    kernel[(1,)](out)
    return out[0].item()


def test_a_changed_variable(monkeypatch):
    this = sys.modules[__name__]
    assert scaled(by_variable) == 2
    for value in (3, -0.0, 0.0, 2):
        monkeypatch.setattr(this, "FACTOR", tl.constexpr(value))
        for _ in range(2):
            assert str(scaled(by_variable)) == str(float(value))
    kernels = len(by_variable.kernels)
    program = by_variable[(1,)](torch.ones(1))
    monkeypatch.setattr(this, "FACTOR", tl.constexpr(2))  # another object, the same value
    assert by_variable[(1,)](torch.ones(1)) is program
    assert len(by_variable.kernels) == kernels
    FACTOR.value = 5  # the same object, another value
    assert scaled(by_variable) == 5


def test_a_changed_item_of_a_tuple(monkeypatch):
    this = sys.modules[__name__]
    assert result_of(by_tuple) == 1
    monkeypatch.setattr(this, "SIZES", tl.core.tuple((1.0, 2)))
    assert result_of(by_tuple) == -1  # rounded in fp32
    monkeypatch.setattr(this, "SIZES", tl.core.tuple((1, 2)))
    assert result_of(by_tuple) == 1


def test_a_changed_variable_of_another_module(monkeypatch):
    assert scaled(by_module) == 2
    monkeypatch.setattr(settings, "FACTOR", 3)
    assert scaled(by_module) == 3


def test_a_changed_variable_of_a_class(monkeypatch):
    assert scaled(by_class) == 2
    monkeypatch.setattr(Config, "FACTOR", 3)
    assert scaled(by_class) == 3


def test_a_changed_function(monkeypatch):
    assert scaled(by_function) == 2
    monkeypatch.setattr(sys.modules[__name__], "chosen", thrice)
    assert scaled(by_function) == 3
    monkeypatch.setattr(sys.modules[__name__], "chosen", twice)
    assert scaled(by_function) == 2


def test_a_changed_variable_of_the_function_around():
    factor = 2

    @triton.jit
    def by_closure(out):
        tl.store(out, tl.load(out) * factor)

    assert scaled(by_closure) == 2
    factor = 3
    assert scaled(by_closure) == 3
    factor = 2
    assert scaled(by_closure) == 2


# -- functions whose source changes -------------------------------------------------------------


@triton.jit
def edited(x):
    return x * 2


@triton.jit
def calls_edited(out):
    tl.store(out, edited(tl.load(out)))


@pytest.mark.parametrize("steps", [False, True])
def test_a_function_whose_source_was_changed(steps):
    source = edited.src
    triton.set_interpret_mode(steps)
    assert scaled(calls_edited) == 2
    edited._unsafe_update_src(source.replace("* 2", "* 3"))
    try:
        assert scaled(calls_edited) == 3
    finally:
        edited._unsafe_update_src(source)
    assert scaled(calls_edited) == 2


class Fresh:
    @property
    def two(self):
        return Doubled(2)


class Doubled(int):
    def __eq__(self, other):
        raise RuntimeError("cannot be compared")

    __hash__ = int.__hash__


def test_what_differs_whenever_it_is_read():
    values = Fresh()

    @triton.jit
    def by_property(out):
        tl.store(out, tl.load(out) * values.two.real)

    program = None
    for _ in range(3):
        out = torch.ones(1)
        previous, program = program, by_property[(1,)](out)
        assert out[0] == 2 and previous in (None, program)
