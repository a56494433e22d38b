"""With debug, integers below 64 bits that overflow in +, - and * are failed asserts."""

from __future__ import annotations

from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import numpy as np
import pytest
from blockscope import knobs
from blockscope.errors import SanitizerError

pytestmark = pytest.mark.usefixtures("mode")


@triton.jit
def operate(x_ptr, y_ptr, out_ptr, OP: tl.constexpr):
    at = tl.arange(0, 4)
    x, y = tl.load(x_ptr + at), tl.load(y_ptr + at)
    if OP == "add":
        out = x + y
    elif OP == "sub":
        out = x - y
    else:
        out = x * y
    tl.store(out_ptr + at, out)


SIGNS = {"add": "+", "sub": "-", "mul": "*"}
ROWS = [
    ("add", np.int32, 2**31 - 1, 1, True),
    ("add", np.int32, -(2**31), -1, True),
    ("add", np.int32, -(2**31), 2**31 - 1, False),
    ("add", np.int16, 2**15 - 1, 1, True),
    ("add", np.uint8, 255, 1, True),
    ("add", np.uint8, 128, 127, False),
    ("sub", np.int32, -(2**31), 1, True),
    ("sub", np.uint32, 0, 1, True),
    ("sub", np.int32, 2**31 - 1, 2**31 - 1, False),
    ("mul", np.int32, 2**30, 2, True),
    ("mul", np.int32, -(2**30), 2, False),
    ("mul", np.uint32, 2**32 - 1, 2**32 - 1, True),
    ("mul", np.int64, 2**40, 2**40, False),  # 64 bits are not looked at
    ("mul", np.float32, 3e38, 3e38, False),
]


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize(("op", "dtype", "x", "y", "overflows"), ROWS)
def test_operators(op: str, dtype: Any, x: Any, y: Any, overflows: bool) -> None:
    a, b = (np.array([0, 1, value, 1], dtype) for value in (x, y))
    out, checked = np.zeros_like(a), np.zeros_like(a)
    operate[(1,)](a, b, out, op)
    if not overflows:
        operate[(1,)](a, b, checked, op, debug=True)
        assert (out == checked).all()
        return
    for options in ({}, {"sanitize_overflow": False, "debug": True}, {"sanitize_overflow": True}):
        operate[(1,)](a, b, checked, op, **options)
        assert (out == checked).all()
    text = f"device-side assert failed: int{8 * a.itemsize} overflow detected for operation {op}"
    with pytest.raises(SanitizerError, match=text) as caught:
        operate[(1,)](a, b, checked, op, debug=True)
    assert f"out = x {SIGNS[op]} y" in str(caught.value)


@triton.jit
def meant(out_ptr, seed):
    at = tl.arange(0, 4)
    sums = tl.sum(at + 2147483640, axis=0) + tl.cumsum(tl.zeros([4], tl.int32), 0)
    random = tl.randint(seed, at).to(tl.int32, bitcast=True) & 1
    mixed = tl.mul(at + 1, 0x7FFFFFFF, sanitize_overflow=False) & 1
    tl.store(out_ptr + at, (sums & 1) + random + mixed + (tl.rand(seed, at) * 2).to(tl.int32))


def test_what_is_meant_to_overflow() -> None:
    """Sums in reductions, random numbers, and ``sanitize_overflow=False``."""
    out, checked = np.zeros(4, np.int32), np.zeros(4, np.int32)
    meant[(1,)](out, 7)
    meant[(1,)](checked, 7, debug=True)
    assert (out == checked).all()


def test_for_all_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """The knob, also for kernels that were launched without."""
    x = np.full(4, 2**31 - 1, np.int32)
    operate[(1,)](x, x, x.copy(), "add")
    monkeypatch.setattr(knobs.runtime, "debug", True)
    with pytest.raises(SanitizerError, match="overflow"):
        operate[(1,)](x, x, x.copy(), "add")
    monkeypatch.undo()
    operate[(1,)](x, x, x.copy(), "add")


@pytest.mark.skipif(not gpu_rows.has_tools(), reason="ptxas is not installed")
def test_on_a_gpu() -> None:
    def text(**options: Any) -> str:
        kernel: Any = operate.warmup(
            tl.int32, tl.int32, tl.int32, "add", grid=(1,), arch="sm_90a", **options
        )
        return kernel.asm["tl"]

    message = "int32 overflow detected for operation add"
    assert message in text(debug=True)
    assert message not in text() + text(debug=True, sanitize_overflow=False)
