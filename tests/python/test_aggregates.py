"""Aggregates: made, passed, returned, carried and replaced in kernels, equal in both CPU modes."""

from __future__ import annotations

from typing import Any, NamedTuple

import blockscope
import blockscope.language as tl
import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("mode")


@blockscope.aggregate
class Window:
    """A block of a vector: where it is and how long it is."""

    base: tl.tensor
    start: tl.tensor
    LENGTH: tl.constexpr

    @blockscope.jit
    def offsets(self):
        return self.start + tl.arange(0, self.LENGTH)

    @blockscope.jit
    def load(self, scale):
        return tl.load(self.base + self.offsets()) * scale

    def store(self, values: Any) -> None:
        tl.store(self.base + self.offsets(), values)

    @blockscope.constexpr_function
    def half(self):
        return self.LENGTH.value // 2

    @blockscope.jit
    def moved(self):
        return Window(self.base, self.start + self.LENGTH, self.LENGTH)

    @staticmethod
    def at(base: Any, block: Any) -> Any:
        return Window(base, block * 8, 8)

    @blockscope.jit
    def __add__(self, values):
        return self.load(1) + values


@blockscope.jit
def methods(x, out):
    window = Window.at(x, tl.program_id(0) + 1)
    Window.at(out, 0).store(window.load(3))
    Window.at(out, 1).store(window.moved() + tl.arange(0, 8))
    tl.store(out + 16 + tl.arange(0, window.half()), window.half())


def test_methods_of_all_kinds() -> None:
    x, out = np.arange(32, dtype=np.int32), np.zeros(20, np.int32)
    methods[(1,)](x, out)
    expected = [*(np.arange(8, 16) * 3), *(np.arange(16, 24) + np.arange(8)), *[4] * 4]
    np.testing.assert_array_equal(out, expected)


@blockscope.aggregate
class Sums:
    total: tl.tensor
    largest: tl.tensor


@blockscope.aggregate
class Pass:
    window: Window
    sums: Sums
    step: tl.tuple


@blockscope.jit
def one_more(run):
    values = run.window.load(run.step[0])
    sums = Sums(run.sums.total + tl.sum(values), tl.maximum(run.sums.largest, tl.max(values)))
    return tl.aggregate_replace(run, window=run.window.moved(), sums=sums)


@blockscope.jit
def carried(x, out, n, scale, FACTOR: tl.constexpr):
    start = Window(x, 0, 8)
    run = Pass(start, Sums(0, -1), (scale, FACTOR))
    for _ in range(n):
        run = one_more(run)
    if n > 2:
        run = tl.aggregate_replace(run, sums=Sums(run.sums.total + 1000, run.sums.largest))
    k = 0
    while k < run.sums.largest:
        k += 7
        run = tl.aggregate_replace(run, sums=Sums(run.sums.total + 1, run.sums.largest))
    both = (run, run.sums)
    tl.static_assert(both[0].step[1] == FACTOR)
    tl.static_assert(run.window.LENGTH == 8)
    tl.store(out, both[1].total)
    tl.store(out + 1, both[0].sums.largest)
    tl.store(out + 2, run.window.start)


@pytest.mark.parametrize("n", [0, 2, 3])
def test_aggregates_go_through_loops_branches_and_calls(n: int) -> None:
    x, out = np.arange(32, dtype=np.int32), np.zeros(3, np.int32)
    carried[(1,)](x, out, n, 2, FACTOR=5)
    values = 2 * x[: 8 * n]
    largest = values.max() if n else -1
    total = values.sum() + (1000 if n > 2 else 0) + max(0, -(-largest // 7))
    np.testing.assert_array_equal(out, [total, largest, 8 * n])


@blockscope.aggregate
class Named(Sums):
    scale: tl.constexpr = 3

    @blockscope.jit
    def all(self):
        return (self.total + self.largest) * self.scale


@blockscope.aggregate
class Doubled:
    value: tl.tensor
    twice: tl.tensor

    def __init__(self, value: Any) -> None:
        self.value = tl.to_tensor(value)
        self.twice = self.double()

    @blockscope.jit
    def double(self):
        return self.value * 2


@blockscope.aggregate
class Tripled(Doubled):
    thrice: tl.tensor

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.thrice = self.twice + self.value


@blockscope.jit
def derived(out):
    tl.store(out, Named(1, 2).all())
    tl.store(out + 1, Named(1, 2, scale=10).all())
    tl.store(out + 2, Doubled(4).twice)
    tl.store(out + 3, Tripled(4).thrice)


def test_bases_defaults_and_constructors() -> None:
    out = np.zeros(4, np.int32)
    derived[(1,)](out)
    np.testing.assert_array_equal(out, [9, 30, 8, 12])


class Sizes:
    """A class of the user's, no aggregate."""

    def __init__(self, size: int) -> None:
        self.size = size

    @blockscope.constexpr_function
    def times(self, count):
        return self.size * count


@blockscope.jit
def sized(out, SIZES: tl.constexpr):
    i = tl.arange(0, SIZES.times(2))
    tl.store(out + i, i + 1)


def test_constexpr_functions_are_methods_of_any_class() -> None:
    out = np.zeros(8, np.int32)
    sized[(1,)](out, SIZES=Sizes(4))
    np.testing.assert_array_equal(out, np.arange(1, 9))
    assert Sizes(3).times(5) == 15


class Point(NamedTuple):
    x: Any
    y: Any


@blockscope.aggregate
class Config:
    block: tl.constexpr
    at: tl.tuple = Point(3, 4)
    op: tl.constexpr = None


@blockscope.jit
def add_one(x):
    return x + 1


@blockscope.jit
def configured(out, CONFIG: tl.constexpr):
    i = tl.arange(0, CONFIG.block)
    tl.store(out + i, CONFIG.op(i) * CONFIG.at.y)


def test_aggregates_of_constants_are_arguments_of_a_launch() -> None:
    for block in (4, 8):
        for at in (Point(1, 2), Point(1, 5)):
            out = np.zeros(8, np.int32)
            configured[(1,)](out, CONFIG=Config(block, at, op=add_one))
            expected = np.zeros(8, np.int32)
            expected[:block] = (np.arange(block) + 1) * at.y
            np.testing.assert_array_equal(out, expected)


def test_a_new_equal_aggregate_compiles_nothing_new(mode: str) -> None:
    if mode == "step":
        pytest.skip("steps are not compiled")
    out = np.zeros(8, np.int32)
    made = [configured[(1,)](out, CONFIG=Config(8, op=add_one)) for _ in range(2)]
    assert made[0] is made[1]
    assert Config(8, op=add_one) == Config(8, op=add_one) != Config(4, op=add_one)


def test_fields_are_what_they_are_annotated_to_be() -> None:
    config = Config(8, (1, (2, 3)))
    assert isinstance(config.block, tl.constexpr) and config.block.value == 8
    assert config.at[1][0].value == 2 and Config(1).at.y.value == 4
    replaced = tl.aggregate_replace(config, block=9)
    assert (replaced.block.value, config.block.value) == (9, 8)
    assert "Config" in repr(config) and isinstance(Named, type) and issubclass(Named, Sums)


def test_strings_and_unions_are_annotations_too() -> None:
    @blockscope.aggregate
    class Loose:
        a: tl.constexpr | tl.tuple
        b: "tl.constexpr"  # noqa: UP037
        c: nowhere  # noqa: F821

    loose = Loose((1, 2), 3, "anything")
    assert loose.a[1].value == 2 and loose.b.value == 3


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: Config(), TypeError, "missing a value for field 'block'"),
        (lambda: Config(1, 2, 3, 4), TypeError, r"takes 3 fields \(block, at, op\), found 4"),
        (lambda: Config(1, block=2), TypeError, "two values for field 'block'"),
        (lambda: Config(1, size=2), TypeError, "has no field 'size'"),
        (lambda: Config(1, at=3), TypeError, "expected tuple for field 'at', found int"),
        (lambda: tl.aggregate_replace(Config(1), z=1), TypeError, "has no field 'z'"),
        (lambda: tl.aggregate_replace(3, z=1), TypeError, "expects an aggregate instance"),
        (lambda: setattr(Config(1), "block", 2), AttributeError, "immutable aggregate 'Config'"),
        (lambda: delattr(Config(1), "block"), AttributeError, "cannot delete 'block'"),
    ],
)
def test_misuse_is_named(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_classes_that_cannot_be_aggregates() -> None:
    class Plain:
        pass

    with pytest.raises(TypeError, match="Aggregates can only inherit from other aggregates"):

        @blockscope.aggregate
        class Child(Plain):
            x: tl.constexpr

    with pytest.raises(ValueError, match=r"__init__ cannot be a @triton.jit function"):

        @blockscope.aggregate
        class Jitted:
            x: tl.constexpr

            @blockscope.jit
            def __init__(self):
                pass

    @blockscope.aggregate
    class Forgetful:
        x: tl.constexpr

        def __init__(self) -> None:
            pass

    with pytest.raises(AttributeError, match="did not initialize attribute 'x'"):
        Forgetful()


@blockscope.jit
def changes_constants(out):
    config = Config(4)
    for i in range(3):
        config = tl.aggregate_replace(config, block=8)
    tl.store(out, config.block)


@blockscope.jit
def assigns_a_field(out):
    sums = Sums(1, 2)
    sums.total = 3
    tl.store(out, sums.total)


@blockscope.jit
def wrong_field(out):
    tl.store(out, Sums(tl.arange(0, 4), "two").largest)


def test_errors_in_kernels(mode: str) -> None:
    out = np.zeros(4, np.int32)
    with pytest.raises(Exception, match="assign"):
        assigns_a_field[(1,)](out)
    with pytest.raises(Exception, match="expected tensor for field 'largest'"):
        wrong_field[(1,)](out)
    if mode == "whole":
        with pytest.raises(blockscope.CompilationError, match="'config' has type Config<block"):
            changes_constants[(1,)](out)
