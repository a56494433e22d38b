"""Index arithmetic without a GPU: quotients by inverses of their divisors, run by ptx_machine.py."""

from __future__ import annotations

import re

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import machine_backend
import numpy as np
import ptx_arithmetic
import pytest
from ptx_instruction import Instruction

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)
LEAST, MOST = -(1 << 31), (1 << 31) - 1
DIVISORS = [
    1, 2, 3, 5, 7, 9, 10, 12, 16, 25, 49, 56, 112, 127, 128, 129, 641, 1000, 3136, 65535, 65536,
    65537, 1 << 20, 6700417, (1 << 24) - 1, (1 << 24) + 1, 1 << 30, (1 << 30) + 1, MOST - 1, MOST,
    -1, -2, -3, -7, -128, -1000, LEAST, LEAST + 1,
]  # fmt: skip


@triton.jit
def quotients_kernel(x_ptr, q_ptr, r_ptr, d, steps, N: tl.constexpr):
    for step in range(steps):
        offsets = step * N + tl.arange(0, N)
        x = tl.load(x_ptr + offsets)
        tl.store(q_ptr + offsets, x // d)
        tl.store(r_ptr + offsets, x % d)


def dividends(divisor: int) -> np.ndarray:
    """Around multiples of the divisor and the limits of 32 bits, and some at random."""
    random = np.random.default_rng(abs(divisor))
    wholes = random.integers(LEAST, MOST, 100) // divisor * divisor
    near = [wholes + k for k in (-1, 0, 1)] + [np.arange(-9, 10), LEAST + np.arange(9)]
    every = np.concatenate([*near, MOST - np.arange(9), random.integers(LEAST, MOST, 512)])
    every = every[(every >= LEAST) & (every <= MOST)]
    if divisor == -1:
        every = every[every != LEAST]  # its quotient has 33 bits
    return every[:512].astype(np.int32)


@pytest.mark.parametrize("ulps", [-2, 0, 2])
def test_quotients_by_an_inverse(ulps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    reciprocal = ptx_arithmetic.Arithmetic.op_rcp

    def inexact(self: ptx_arithmetic.Arithmetic, i: Instruction, at: np.ndarray) -> None:
        """As far off as the GPU's may be, and more."""
        reciprocal(self, i, at)
        bits = self.get(i.operands[0], at, "b32").astype(np.int64) + ulps
        self.put(i.operands[0], at, bits.astype(np.uint32))

    monkeypatch.setattr(ptx_arithmetic.Arithmetic, "op_rcp", inexact)
    kernels = machine_backend.record(monkeypatch, "sm_90a")
    for divisor in DIVISORS:
        x = dividends(divisor)
        made = [torch.zeros(len(x), dtype=torch.int32) for _ in range(2)]
        # 1 as an argument would be a constant.
        quotients_kernel[(1,)](torch.from_numpy(x), *made, np.int32(divisor), len(x) // 128, N=128)
        wide = x.astype(np.int64)
        q = np.sign(wide) * np.sign(divisor) * (np.abs(wide) // abs(divisor))
        assert np.array_equal(made[0].numpy(), q.astype(np.int32)), divisor
        assert np.array_equal(made[1].numpy(), (wide - q * divisor).astype(np.int32)), divisor
    quotients = re.compile(r"\b(div|rem)\.[su]32")
    assert not any(quotients.search(kernel.asm["ptx"]) for kernel in kernels[1:])
