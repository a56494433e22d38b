"""Index arithmetic without a GPU: quotients by inverses of their divisors, and wide accesses behind
remainders of what is proved not to be negative, run by ptx_machine.py.
"""

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
    return np.resize(every, 1024).astype(np.int32)


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
        steps = len(x) // 1024
        arguments = torch.from_numpy(x), *made, np.int32(divisor), steps
        quotients_kernel[(1,)](*arguments, N=1024, num_warps=1)
        wide = x.astype(np.int64)
        q = np.sign(wide) * np.sign(divisor) * (np.abs(wide) // abs(divisor))
        assert np.array_equal(made[0].numpy(), q.astype(np.int32)), divisor
        assert np.array_equal(made[1].numpy(), (wide - q * divisor).astype(np.int32)), divisor
    quotients = re.compile(r"\b(div|rem)\.[su]32")
    assert not any(quotients.search(kernel.asm["ptx"]) for kernel in kernels[1:])


@pytest.mark.parametrize("count", [128, 256])
def test_quotients_in_a_loop(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """From eight a thread on, of which only the upper half of a product is made."""
    kernels = machine_backend.record(monkeypatch, "sm_90a")
    x = np.resize(dividends(7), 2 * count)
    made = [torch.zeros(len(x), dtype=torch.int32) for _ in range(2)]
    quotients_kernel[(1,)](torch.from_numpy(x), *made, 7, 2, N=count, num_warps=1)
    assert np.array_equal(made[0].numpy(), np.trunc(x / 7).astype(np.int32))
    ptx = kernels[-1].asm["ptx"]
    expected = (8, 0) if count == 256 else (0, 4)
    assert (ptx.count("mul.hi.s32"), ptx.count("div.s32")) == expected


@triton.jit
def backwards_kernel(x_ptr, out_ptr, tiles, count, N: tl.constexpr):
    """The last tile first; where tiles are 0 or fewer, from below 0: quotients round to zero."""
    program = tl.program_id(0)
    offsets = tl.arange(0, N)
    first = (tiles - 1 - program % 2 % tiles) * N
    tl.store(out_ptr + program * N + offsets, tl.load(x_ptr + count + (first + offsets) % count))


@pytest.mark.parametrize("tiles", [-3, -2, 2, 5])
def test_what_is_relied_on_is_checked_at_the_launch(
    tiles: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = machine_backend.record(monkeypatch, "sm_90a")
    count, programs, n = 32, 2, 512
    x = torch.arange(2 * count, dtype=torch.int32)
    out = torch.zeros(programs * n, dtype=torch.int32)
    backwards_kernel[(programs,)](x, out, tiles, count, N=n)
    offsets, numbers = torch.arange(n), torch.arange(programs)[:, None]
    first = (tiles - 1 - torch.fmod(numbers % 2, tiles)) * n
    assert out.tolist() == (count + torch.fmod(first + offsets, count)).flatten().tolist()
    assert ("ld.global.v4" in kernels[-1].asm["ptx"]) == (tiles >= 1)


@triton.jit
def swizzled_kernel(x_ptr, out_ptr, total, count, N: tl.constexpr, DIES: tl.constexpr):
    """Programs dealt out to dies: those of a die come one after the other."""
    program = tl.program_id(0)
    per = (total + DIES - 1) // DIES
    tall = total % DIES
    tall = DIES if tall == 0 else tall
    die = program % DIES
    if die < tall:
        number = die * per + program // DIES
    else:
        number = tall * per + (die - tall) * (per - 1) + program // DIES
    offsets = tl.arange(0, N)
    tl.store(out_ptr + number * N + offsets, tl.load(x_ptr + (number * N + offsets) % count))


@pytest.mark.parametrize("total", [1, 7, 8, 11])
def test_programs_dealt_out_to_dies(total: int, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = machine_backend.record(monkeypatch, "sm_90a")
    count, n = 48, 512
    x, out = torch.arange(count, dtype=torch.int32), torch.full((total * n,), -1, dtype=torch.int32)
    swizzled_kernel[(total,)](x, out, np.int32(total), count, N=n, DIES=4)
    assert out.tolist() == (torch.arange(total * n) % count).tolist()
    assert "ld.global.v4" in kernels[-1].asm["ptx"]
