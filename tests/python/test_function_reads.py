"""What a @constexpr_function reads is part of what a kernel depends on, in all modes."""

import functools
import sys
import types

import blockscope as triton
import blockscope.language as tl
import pytest
import torch
from blockscope.runtime.jit import MockTensor

SCALE = 3
TABLE = {"a": [1, 2]}
CALLS = []
MEMO = {}
constants = types.ModuleType("constants_of_a_test")
constants.SCALE = 3
sys.modules[constants.__name__] = constants


class Options:
    scale = 3


def helper(n):
    return n * SCALE


HELPER = helper
PARTIAL = functools.partial(helper)


@triton.constexpr_function
def through_helper(n):
    return HELPER(n)


@triton.constexpr_function
def own_global(n):
    return n * SCALE


@triton.constexpr_function
def in_a_comprehension(n):
    return sum([n * SCALE for _ in range(1)])


@triton.constexpr_function
def of_a_table(n):
    return n * TABLE["a"][0]


@triton.constexpr_function
def of_a_module(n):
    return n * constants.SCALE


@triton.constexpr_function
def of_a_class(n):
    return n * Options.scale


@triton.constexpr_function
def of_a_partial(n):
    return PARTIAL(n)


@triton.constexpr_function
def nested(n):
    return own_global(n)


@triton.constexpr_function
def with_default(n, box=[3]):  # noqa: B006
    return n * box[0]


BOX = with_default.fn.__defaults__[0]


def closure():
    box = [3]

    @triton.constexpr_function
    def of_a_cell(n):
        return n * box[0]

    return of_a_cell, box


CELL, CELL_BOX = closure()


@triton.constexpr_function
def counts_its_calls(n):
    CALLS.append(n)
    return n


@triton.constexpr_function
def memoized(n):
    return MEMO.setdefault(n, n + 1)


def set_scale(patch):
    patch.setitem(globals(), "SCALE", 30)


PLAIN = "tl.constexpr"
CHANGES = {
    "own_global": (own_global, set_scale),
    "helper": (through_helper, set_scale),
    "other helper": (
        through_helper, lambda patch: patch.setitem(globals(), "HELPER", lambda n: n * 30)
    ),
    "comprehension": (in_a_comprehension, set_scale),
    "nested": (nested, set_scale),
    "partial": (of_a_partial, set_scale),
    "table": (of_a_table, lambda patch: patch.setitem(TABLE, "a", [10])),
    "module": (of_a_module, lambda patch: patch.setattr(constants, "SCALE", 30)),
    "class": (of_a_class, lambda patch: patch.setattr(Options, "scale", 30)),
    "default": (with_default, lambda patch: BOX.__setitem__(0, 30)),
    "cell": (CELL, lambda patch: CELL_BOX.__setitem__(0, 30)),
    PLAIN: (tl.constexpr(helper), set_scale),
}  # fmt: skip


def kernel_of(function):
    @triton.jit
    def kernel(o, N: tl.constexpr):
        tl.store(o, function(N) + 0.0)

    return kernel


def launch(kernel, step=False):
    o = torch.zeros(1)
    triton.set_interpret_mode(step)
    try:
        kernel[(1,)](o, 2)
    finally:
        triton.set_interpret_mode(False)
    return o.item()


@pytest.mark.parametrize(
    "name, step",
    # Step mode calls plain Python functions as they are.
    [(name, step) for name in CHANGES for step in (False, True) if (name, step) != (PLAIN, True)],
)
def test_a_change_makes_another_kernel(name, step, monkeypatch):
    function, change = CHANGES[name]
    saved = BOX[0], CELL_BOX[0]
    kernel = kernel_of(function)
    before = launch(kernel, step), launch(kernel, step)
    change(monkeypatch)
    after = launch(kernel, step)
    BOX[0], CELL_BOX[0] = saved
    factor = 10 if name == "table" else 30
    assert before == ((2, 2) if name == "table" else (6, 6))
    assert after == 2 * factor


def test_a_change_makes_another_kernel_for_a_gpu(monkeypatch):
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    kernel = kernel_of(through_helper)

    def compiled():
        return kernel.warmup(MockTensor(tl.float32), 2, grid=(1,), arch="sm_90a")

    first = compiled()
    assert compiled().asm["ptx"] is first.asm["ptx"] or compiled() is first
    set_scale(monkeypatch)
    assert compiled().asm["ptx"] != first.asm["ptx"]
    assert "0f42700000" in compiled().asm["ptx"].lower() or "1114636288" in compiled().asm["ptx"]


@pytest.mark.parametrize("function", [counts_its_calls, memoized])
def test_a_function_that_changes_what_it_reads(function):
    """Each launch does not compile again."""
    kernel = kernel_of(function)
    CALLS.clear()
    launch(kernel)
    compiled = len(CALLS)
    launch(kernel)
    launch(kernel)
    assert len(CALLS) == compiled


def test_an_error_of_the_function_is_not_kept(monkeypatch):
    monkeypatch.setitem(globals(), "SCALE", "x")
    kernel = kernel_of(tl.constexpr(lambda n: 1 // (n - 2) if SCALE == "x" else n))
    with pytest.raises(Exception, match="zero"):
        launch(kernel)
    monkeypatch.setitem(globals(), "SCALE", 3)
    assert launch(kernel) == 2
