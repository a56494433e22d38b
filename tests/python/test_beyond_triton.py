"""What docs/language.md lists under "Accepted beyond Triton": the same result in all modes."""

import blockscope as triton
import blockscope.language as tl
import pytest
import torch
from blockscope.language import core
from blockscope.runtime.jit import MockTensor


@triton.jit
def negations(o, n, z):
    tl.store(o, not n)
    tl.store(o + 1, not z)
    tl.store(o + 2, not (n * 0.5))
    tl.store(o + 3 + tl.arange(0, 2), not tl.arange(0, 2))


@triton.jit
def of_numbers(o, n, z):
    tl.store(o, n and z)
    tl.store(o + 1, n and n)
    tl.store(o + 2, z or n)
    tl.store(o + 3, (n > 1) and n)
    tl.static_assert((n and n).dtype == tl.int1)
    tl.static_assert((z or n * 1.0).dtype == tl.int1)


@triton.jit
def constants_beside_numbers(o, n, z):
    tl.store(o, n and 3)
    tl.store(o + 1, n or 3)
    tl.store(o + 2, 3 and n)
    tl.store(o + 3, 0 or n)
    tl.store(o + 4, n and 0)
    tl.store(o + 5, (n > 1) and True and (z < 1))
    tl.store(o + 6, z and 3)
    tl.static_assert((z and 3).dtype == tl.int32)


@triton.jit
def every_operand_is_evaluated(o, n, z):
    if z and tl.atomic_add(o, 1):
        tl.store(o + 1, 5)
    if n or tl.atomic_add(o, 1):
        tl.store(o + 2, 5)


@triton.jit
def builtins(o, n, z):
    tl.store(o, abs(-n))
    tl.store(o + 1, int(n * 1.75))
    tl.store(o + 2, (float(n) / 8 * 10).to(tl.int64))
    tl.store(o + 3, bool(n))
    tl.store(o + 4, +n)
    tl.store(o + 5, abs(-3) + round(2.6) + (str(3) == "3") + bool(7))
    tl.static_assert(float(n).dtype == tl.float32)
    tl.static_assert(int(n * 1.5).dtype == tl.int32)
    tl.static_assert(bool(n).dtype == tl.int1)


@triton.jit
def pointers(o, n, z):
    tl.store(o, o + 1 > o)
    tl.store(o + 1, o + n < o)
    tl.store(o + 2, o + n != o)
    tl.store(o + 3, o + z == o)


@triton.jit
def another_type_in_both_branches(o, n, z):
    x = n
    if n > 2:
        x = x.to(tl.int64) * 5000000000
    else:
        x = x.to(tl.int64)
    tl.store(o, x)


@triton.jit
def compare_and_swap(o, n, z):
    tl.store(o + 1, tl.atomic_cas(o, z, 7))
    tl.store(o + 2, tl.atomic_cas(o, 7.0, n))


@triton.jit
def sizes_and_numbers(o, n, z):
    i = tl.arange(0, 4)
    known = tl.clamp(i, 1, 2) + tl.zeros(4, tl.int32) + tl.full(4, 1.0, tl.int32)
    tl.store(o + i, known)
    tl.store(o + 4, tl.math.sigmoid(z * 1.0) * n)


KERNELS = [
    (negations, [0, 1, 0, 1, 0]),
    (of_numbers, [0, 1, 1, 1]),
    (constants_beside_numbers, [4, 3, 4, 4, 0, 1, 0]),
    (every_operand_is_evaluated, [2, 0, 5]),
    (builtins, [4, 7, 5, 1, 4, 8]),
    (pointers, [1, 0, 1, 1]),
    (another_type_in_both_branches, [20000000000]),
    (compare_and_swap, [4, 0, 7]),
    (sizes_and_numbers, [2, 2, 3, 3, 2]),
]
NAMES = [kernel.__name__ for kernel, _ in KERNELS]


@pytest.mark.parametrize("step", [False, True], ids=["whole", "step"])
@pytest.mark.parametrize("kernel, expected", KERNELS, ids=NAMES)
def test_the_cpu(kernel, expected, step):
    o = torch.zeros(8, dtype=torch.int64)
    triton.set_interpret_mode(step)
    try:
        kernel[(1,)](o, 4, 0)
    finally:
        triton.set_interpret_mode(False)
    assert o.tolist() == expected + [0] * (8 - len(expected))


@pytest.mark.parametrize("kernel", [kernel for kernel, _ in KERNELS], ids=NAMES)
def test_the_gpu_compiler(kernel):
    compiled = kernel.warmup(MockTensor(tl.int64), 4, 0, grid=(1,), arch="sm_90a")
    assert ".entry" in compiled.asm["ptx"]


@tl.core.builtin
def mixed(a, b, t, _semantic=None):
    """A builtin of a user's, which hands on what Triton gave it."""
    step = tl.sub(b, a, _semantic=_semantic).to(tl.float32, _semantic=_semantic)
    tl.core.static_assert(step.shape[0] == 4, _semantic=_semantic)
    return tl.maximum(a + step * t, core.full([4], 1.0, tl.float32, _semantic=_semantic))


@tl.core.extern
def root(x, _builder=None):
    symbols = {(tl.core.dtype("fp32"),): ("__nv_sqrtf", tl.core.dtype("fp32"))}
    known = tl.core.extern_elementwise("", "", [x], symbols, is_pure=True, _builder=_builder)
    return known + tl.extra.libdevice.sqrt(x, _builder=_builder)


class Helpers:
    @staticmethod
    def doubled(n, *, _semantic, _builder=None):
        assert isinstance(n, tl.constexpr) and _semantic is None
        return tl.constexpr(2 * n.value)


Helpers.doubled.__triton_builtin__ = True  # what torch's Inductor does


@triton.jit
def calls_a_marked_function(o, N: tl.constexpr):
    size: tl.constexpr = Helpers.doubled(N - 2)
    tl.store(o + tl.arange(0, size), Helpers.doubled(3))


def test_functions_that_are_marked_as_builtins():
    o = torch.zeros(8)
    calls_a_marked_function[(1,)](o, 4)
    assert o.tolist() == [6, 6, 6, 6, 0, 0, 0, 0]


@triton.jit
def calls_builtins_of_users(x, o):
    at = tl.arange(0, 4)
    x = tl.load(x + at)
    tl.store(o + at, mixed(x, x * 2, 0.5) + root(x))


@pytest.mark.parametrize("is_stepping", [False, True])
def test_keywords_of_tritons_builtins(is_stepping):
    x, o = torch.tensor([0.25, 1, 4, 9]), torch.zeros(4)
    triton.set_interpret_mode(is_stepping)
    try:
        calls_builtins_of_users[(1,)](x, o)
    finally:
        triton.set_interpret_mode(False)
    torch.testing.assert_close(o, (1.5 * x).clamp(min=1) + 2 * x.sqrt())
    with pytest.raises(TypeError, match="unexpected keyword argument 'semantic'"):
        tl.maximum(1, 2, semantic=None)
