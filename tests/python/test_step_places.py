"""Functions and expressions inside of a kernel that have a frame of their own in step mode: what is
found there has the place, and the calls, of whole kernels."""

from __future__ import annotations

import re

import blockscope as triton
import blockscope.language as tl
import numpy as np
import pytest


@triton.jit
def nested_function_in_a_comprehension(x_ptr, out_ptr, n):
    def at(k):
        return tl.load(x_ptr + k)

    parts = [at(k) for k in (0, 900)]
    tl.store(out_ptr, parts[0] + parts[1])


@triton.jit
def lambda_in_a_lambda(x_ptr, out_ptr, n):
    load = lambda k: tl.load(x_ptr + k)  # noqa: E731
    twice = lambda k: load(k) + load(k + 900)  # noqa: E731
    tl.store(out_ptr, twice(0))


@triton.jit
def second_operand(x_ptr, out_ptr, n):
    if n > 0 and (n > 1 or tl.load(x_ptr + 900) > 0):
        tl.store(out_ptr, 1.0)


@triton.jit
def operand_in_a_comprehension(x_ptr, out_ptr, n):
    flags = [n > k and tl.load(x_ptr + 900 * k) > 0 for k in (0, 1)]
    tl.store(out_ptr, (flags[0] | flags[1]).to(tl.float32))


@pytest.mark.parametrize(
    "kernel",
    [
        nested_function_in_a_comprehension,
        lambda_in_a_lambda,
        second_operand,
        operand_in_a_comprehension,
    ],
    ids=lambda kernel: kernel.__name__,
)
def test_functions_and_parts_in_a_kernel_have_the_places_of_whole_kernels(kernel):
    texts = []
    for step in (False, True):
        triton.set_interpret_mode(step)
        try:
            with triton.check("asan") as report:
                kernel[(1,)](np.ones(8, np.float32), np.zeros(1, np.float32), 5)
        finally:
            triton.set_interpret_mode(False)
        texts.append(re.sub("number [0-9]+", "number N", report.text()))
    assert texts[0].count("[oob-load]") == 1 and texts[0] == texts[1]
