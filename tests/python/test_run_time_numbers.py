"""Run-time arguments of Python's numbers and of classes derived from them, in all modes."""

import enum

import blockscope as triton
import blockscope.language as tl
import pytest
import torch
from blockscope.runtime.jit import MockTensor


class Activation(enum.IntEnum):
    RELU = 1
    GELU = 2
    WIDE = 2**40


class Flags(enum.IntFlag):
    A = 4


class Int(int):
    """What a subclass says of itself is not asked: its number counts."""

    def __int__(self):
        return 99

    def __index__(self):
        return 99


class Float(float):
    def __float__(self):
        return 99.0


@triton.jit
def kernel(o, pair, x):
    tl.store(o, x * 2.0)
    tl.store(o + 1, 1.0 if isinstance(x, tl.constexpr) else x.dtype.primitive_bitwidth)
    tl.store(o + 2, 0.0 if isinstance(x, tl.constexpr) else x.dtype.is_floating())
    tl.store(o + 3, pair[1])


NUMBERS = [
    (Activation.RELU, [2, 1, 0]),
    (Activation.GELU, [4, 32, 0]),
    (Activation.WIDE, [2**41, 64, 0]),
    (Flags.A, [8, 32, 0]),
    (Int(16), [32, 32, 0]),
    (Int(1), [2, 1, 0]),
    (Float(2.5), [5, 32, 1]),
    (Float(1.0), [2, 32, 1]),
]


@pytest.mark.parametrize("step", [False, True], ids=["whole", "step"])
@pytest.mark.parametrize("value, expected", NUMBERS, ids=[repr(row[0]) for row in NUMBERS])
def test_subclasses_are_their_numbers(value, expected, step):
    triton.set_interpret_mode(step)
    try:
        for _ in range(2):
            o = torch.zeros(4, dtype=torch.float64)
            kernel[(1,)](o, (0, value), value)
            assert o.tolist() == [*expected, expected[0] / 2]
    finally:
        triton.set_interpret_mode(False)


def test_they_share_kernels_with_plain_numbers(monkeypatch):
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    o = MockTensor(tl.float64)

    def compiled(value):
        return kernel.warmup(o, (0, 3), value, grid=(1,), arch="sm_90a").asm["ptx"]

    assert compiled(Activation.GELU) == compiled(2)
    assert compiled(Activation.RELU) == compiled(1) != compiled(2)
    assert compiled(Float(2.5)) == compiled(2.5)
