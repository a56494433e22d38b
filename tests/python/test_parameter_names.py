"""Parameters of kernels may have any name, and be given by it."""

import blockscope as triton
import blockscope.language as tl
import pytest
import torch
from blockscope.runtime import hooks


@triton.jit
def kernel(self, grid, warmup, function=0, fn=0, args=0, kwargs=0):
    tl.store(self, grid * 10.0 + warmup + (function + fn + args + kwargs) * 1000)


@pytest.mark.parametrize("step", [False, True], ids=["whole", "step"])
def test_names_of_our_own_arguments(step):
    triton.set_interpret_mode(step)
    try:
        for extra in (0, 1):
            for _ in range(2):  # by Python, then by the launcher
                o = torch.zeros(1)
                rest = dict.fromkeys(("function", "fn", "args", "kwargs"), 2) if extra else {}
                kernel[(1,)](o, grid=3, warmup=4, **rest)
                assert o.item() == 34 + 8000 * extra
    finally:
        triton.set_interpret_mode(False)


def test_in_the_place_of_a_launch():
    def twice(run, fn, args, grid, kwargs, warmup):
        run(fn, grid, args, kwargs, warmup=warmup)
        return run(fn, grid, args, kwargs, warmup=warmup)

    o = torch.zeros(1)
    with hooks.intercepted(twice):
        kernel[(1,)](o, grid=5, warmup=0)
    assert o.item() == 50
