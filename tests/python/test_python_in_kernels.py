"""Python's syntax and builtins in kernels: whole, step by step with and without a source, and on a
machine for PTX. Each kernel takes ``out`` and ``n``, which is 5, and stores an integer.
"""

from __future__ import annotations

import inspect
import math
import operator
from typing import Any, NamedTuple

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import machine_backend
import numpy as np
import pytest
import torch
from machine_backend import MachineBackend, storage_of

CASES: dict[str, tuple[Any, int]] = {}


def gives(expected: int) -> Any:
    def add(function: Any) -> Any:
        kernel = triton.jit(function)
        CASES[kernel.__name__] = kernel, expected
        return kernel

    return add


# -- kernels --------------------------------------------------------------------------------------


@gives(7)
def shapes_equal_lists_and_tuples(out, n):
    block = tl.full((4, 2), 7, tl.int32)
    scalar = tl.full((), 7, tl.int32)
    tl.static_assert(block.shape == [4, 2])
    tl.static_assert(block.shape == (4, 2))
    tl.static_assert([4, 2] == block.shape)
    tl.static_assert(block.shape != [4, 4])
    tl.static_assert(scalar.shape == [])
    tl.static_assert(len(block.shape[:1] + [1, 3]) == 3)
    tl.store(out, tl.max(block))


@gives(10)
def options_of_plain_ranges_do_nothing(out, n, STAGES: tl.constexpr = 2):
    total = 0
    for i in range(0, n, num_stages=STAGES, no_such_option=True):
        total += i
    tl.store(out, total)


@gives(6)
def names_by_text(out, n, NAME: tl.constexpr = "maximum"):
    tl.static_assert(hasattr(tl, NAME))
    tl.static_assert(not hasattr(tl, "no such name"))
    tl.store(out, getattr(tl, NAME)(n, getattr(tl, "no such name", 6)))


@gives(4)
def calls_functions_of_modules(out, n, SIZE: tl.constexpr = 16):
    exponent: tl.constexpr = int(math.log2(SIZE))
    tl.static_assert(np.log2(SIZE) == 4 and math.isinf(-math.inf))
    tl.static_assert(operator.add(SIZE, 1) == 17)
    low = tl.where(n > 5, 0, -torch.finfo(torch.float32).max)
    tl.store(out, tl.where(low < -1e38, exponent, torch.iinfo(torch.int16).max))


@gives(3)
def rounds_a_constant(out, n, SCALE: tl.constexpr = 2.6):
    tl.store(out, round(SCALE))


class Pair(NamedTuple):
    first: Any
    second: Any = 2


class Counted:
    """A context manager of Python's; counts how many are open."""

    now = 0

    def __init__(self, by: int = 1) -> None:
        self.by = by

    def __enter__(self) -> int:
        Counted.now += self.by
        return self.by

    def __exit__(self, *error: Any) -> None:
        Counted.now -= self.by


@gives(7)
def loop_variable_after_its_loop(out, n):
    for i in range(1, n, 2):
        pass
    up = i
    for i in tl.range(n, 0, -2):
        pass
    down = i
    for i in range(n, 0):  # never runs: the name stays 1
        pass
    tl.store(out, up * 2 + down + (i - 1) * n)


@gives(104)
def loop_variable_that_was_there_before(out, n):
    i = 100
    for i in range(n - n):
        pass
    kept = i
    for i in range(n):
        i = i * 1
    tl.store(out, kept + i)


@gives(3 + 3 + 10)
def loop_variable_in_an_outer_loop(out, n):
    total = 0
    for k in range(2):
        for i in range(4):
            pass
        total += i
    i = tl.arange(0, 4)
    total += tl.sum(i)
    for i in range(3):  # does not change the block for what came before
        total += 0
    i = 4
    tl.store(out, total + i)


@gives(5 * 2 + 7 + 1 + 40)
def nested_functions(out, n):
    base = n

    @triton.jit
    def twice(x, by: tl.constexpr = 2):
        if x > 100:
            return x
        return x * by + base

    def largest(a, b):
        return tl.maximum(a, b)

    add = lambda x, y=1: x + y  # noqa: E731
    base = 2 + n  # what a function sees when it is called
    for _ in range(1):
        base = add(base, 0)
    tl.store(out, add(twice(n)) + largest(40, n))


@gives(30)
def nested_function_as_combine(out, n):
    @triton.jit
    def larger(a, b):
        return tl.maximum(a, b)

    tl.store(out, tl.reduce(tl.arange(0, 4) * 10, 0, larger))


@gives(10)
def with_statements(out, n):
    total = n
    with Counted():
        total += 1
        with Counted(2) as by, Counted(by=1):
            total += by
            for _ in range(2):
                with Counted():
                    total += 1
    tl.store(out, total)


@triton.jit
def swapped(pair):
    return Pair(first=pair.second, second=pair.first)


@gives(5 + 20 + 7)
def named_tuples(out, n):
    pair = Pair(n, tl.constexpr(4))
    tl.static_assert(len(pair) == 2)
    a, b = swapped(pair)
    other = swapped(Pair(n))
    if n > 3:
        other = Pair(other.first, other.second)
    else:
        other = Pair(1, n)
    for _ in range(1):
        pair = Pair(pair.first * a, pair.second)
    tl.store(out, b + pair[0] + other.first + other.second)


@gives(-1)
def a_number_of_a_named_tuple_is_a_tensor(out, n):
    pair = Pair(2147483647, 0)
    tl.store(out, (pair.first + pair.first) // 2)


@gives(5 + 3)
def declared_constants(out, n):
    size: tl.constexpr
    width: tl.constexpr
    some, size = 1, 8
    if (width := size // 4) != 2:
        tl.static_assert(False)
    tl.static_assert(isinstance(width.type, tl.constexpr_type))
    tl.static_assert(some.dtype == tl.int32)
    tl.store(out, n + some + width + tl.sum(tl.zeros((size, width), tl.int32)))


@gives(10 + 1)
def a_name_that_a_later_operand_binds(out, n):
    is_large = (n > 0) and ((twice := n * 2) > 3 and (once := n) > 3)
    tl.store(out, twice + is_large + 0 * once)


@gives(5)
def indices_of_scalars(out, n):
    tl.static_assert(n[None, :].shape == [1])
    tl.static_assert(n[:, None].shape == [1])
    tl.static_assert(n[None, :, None].shape == [1, 1])
    tl.static_assert((n + 0)[:].shape == [])
    tl.static_assert(out[None, None, :].shape == [1, 1])
    tl.store(out[None, :], n[:, None])


@triton.constexpr_function
def same(value):
    return value


@gives(2)
def named_tuples_through_python(out, n):
    tl.static_assert(same(Pair(0)).second == 2)
    tl.store(out, same(Pair(1)).second)


# -- in all modes ---------------------------------------------------------------------------------


def launched(kernel: Any) -> int:
    out = torch.zeros(1, dtype=torch.int32)
    kernel[(1,)](out, 5)
    return int(out.item())


def test_there_are_kernels() -> None:
    assert len(CASES) >= 12 and CASES.keys() >= NUMBERS


@pytest.mark.parametrize("steps", [False, True], ids=["whole", "step"])
@pytest.mark.parametrize("name", CASES)
def test_on_the_cpu(name: str, steps: bool) -> None:
    kernel, expected = CASES[name]
    triton.set_interpret_mode(steps)
    try:
        assert launched(kernel) == expected
    finally:
        triton.set_interpret_mode(False)


#: A number that is bound to a name stays Python's where there is no source.
NUMBERS = {"a_number_of_a_named_tuple_is_a_tensor", "declared_constants"}


@pytest.mark.parametrize("name", sorted(CASES.keys() - NUMBERS))
def test_step_by_step_without_a_source(name: str) -> None:
    kernel, expected = CASES[name]
    names = {**globals(), "gives": lambda _: triton.jit}
    exec(inspect.getsource(kernel.fn), names)
    triton.set_interpret_mode(True)
    try:
        assert launched(names[name]) == expected
    finally:
        triton.set_interpret_mode(False)


@pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)
@pytest.mark.parametrize("name", CASES)
def test_ptx(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import ptx_matrix_machine

    def run(compiled: Any, grid: Any, values: list[Any]) -> None:
        compiled = gpu_rows.as_launched(compiled, values)
        machine = ptx_matrix_machine.Machine(compiled.asm["ptx"], compiled.metadata.num_warps)
        machine.run(grid, [storage_of(value) for value in values], compiled.metadata.shared)

    machine_backend.use(monkeypatch, MachineBackend("sm_90a", run))
    kernel, expected = CASES[name]
    assert launched(kernel) == expected


# -- limits ---------------------------------------------------------------------------------------


@triton.jit
def variable_of_a_loop_that_never_ran(out, n):
    for i in range(n, 0, 2):
        pass
    tl.store(out, i)


def test_a_loop_variable_without_an_iteration() -> None:
    assert launched(variable_of_a_loop_that_never_ran) == 3
    triton.set_interpret_mode(True)
    with pytest.raises(UnboundLocalError, match="'i'"):
        launched(variable_of_a_loop_that_never_ran)
    triton.set_interpret_mode(False)


@triton.jit
def variable_with_two_types(out, n):
    i = tl.arange(0, 4)
    tl.store(out + i * 0, i * 0)
    for i in range(n):
        pass
    tl.store(out, i)


@triton.jit
def returns_in_with(out, n):
    with Counted():
        return


@triton.jit
def strange_decorator(out, n):
    @gives(3)
    def inner():
        pass


@triton.jit
def too_many_arguments(out, n):
    def inner(x):
        return x

    inner(n, n)


@pytest.mark.parametrize(
    "kernel, text",
    [
        (variable_with_two_types, "'i' has type int32[4] before the loop of line"),
        (returns_in_with, "'return' inside a 'with' is not supported"),
        (strange_decorator, "a decorator other than @jit is not supported"),
        (too_many_arguments, "call of 'inner': 2 positional values too much, expected x"),
    ],
)
def test_clear_errors(kernel: Any, text: str) -> None:
    with pytest.raises(triton.CompilationError) as caught:
        launched(kernel)
    assert text in str(caught.value)


# -- tuples of constants as arguments -------------------------------------------------------------


@triton.jit
def sums(t):
    if len(t) == 0:
        return 0
    return t[0] + sums(t[1:])


@triton.jit
def takes_tuples(out, n, t):
    tl.static_assert(t[1][3] == 4)
    tl.static_assert(t[1][1] is None)
    tl.static_assert(isinstance(t[1][0].type, tl.constexpr_type))  # a 1 is compiled in
    if t[1][3] > 3:
        n += 1
    tl.static_assert(sums((t[1][3], t[1][0])) == 5)
    tl.store(out, n + t[0] + t[1][2])


@pytest.mark.parametrize("steps", [False, True], ids=["whole", "step"])
def test_constants_in_tuples_stay_constants(steps: bool) -> None:
    triton.set_interpret_mode(steps)
    out = torch.zeros(1, dtype=torch.int32)
    try:
        for four, right in [(4, True), (5, False), (4, True)]:
            arguments = out, 5, (7, (1, None, 9, tl.constexpr(four)))
            if right:
                takes_tuples[(1,)](*arguments)
                assert out.item() == 22
            else:
                with pytest.raises(triton.TritonError, match="static_assert"):
                    takes_tuples[(1,)](*arguments)
    finally:
        triton.set_interpret_mode(False)
