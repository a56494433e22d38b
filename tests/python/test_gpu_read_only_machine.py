"""Loops that load and store, without a GPU: which loads may begin before the stores of earlier
iterations, and the results; run by ptx_machine.py.
"""

from __future__ import annotations

import re
from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import pytest

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)
ARCHS = pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])


def loads(kernel: Any) -> tuple[int, int]:
    """How many loads are of memory that is only read, and how many are not."""
    ptx = kernel.asm["ptx"]
    read_only = len(re.findall(r"\bld\.global\.nc\b", ptx))
    return read_only, len(re.findall(r"\bld\.(?:volatile\.)?global\b", ptx)) - read_only


@triton.jit
def scaled_rows_kernel(x_ptr, factors_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    start = 0
    while start < columns:
        place = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * columns + place, mask=place < columns)
        x *= tl.load(factors_ptr + row)
        tl.store(out_ptr + row * columns + place, x, mask=place < columns)
        start += BLOCK


@ARCHS
@pytest.mark.parametrize("columns", [1000, 96, 512])
def test_loads_of_what_is_only_read(columns: int, arch: str, kernels: Any) -> None:
    x, factors = torch.randn(3, columns), torch.randn(3)
    out = torch.zeros(3, columns)
    scaled_rows_kernel[(3,)](x, factors, out, columns, BLOCK=128)
    assert torch.equal(out, x * factors[:, None])
    assert loads(kernels[0])[0] >= 2 and loads(kernels[0])[1] == 0


@ARCHS
def test_in_place_nothing_of_it_may_come_early(arch: str, kernels: Any) -> None:
    """x is the output, too: the launch finds that they overlap, and runs a careful compilation. The
    factors are still only read."""
    x, factors = torch.randn(3, 700), torch.randn(3)
    want = x * factors[:, None]
    scaled_rows_kernel[(3,)](x, factors, x, 700, BLOCK=128)
    assert torch.equal(x, want)
    assert loads(kernels[0])[0] == 1 and loads(kernels[0])[1] >= 1


@triton.jit
def normalised_kernel(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0) * columns
    squares = 0.0
    for start in range(0, columns, BLOCK):
        place = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + place, mask=place < columns, other=0.0)
        squares += tl.sum(x * x)
    for start in range(0, columns, BLOCK):
        place = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + place, mask=place < columns)
        tl.store(out_ptr + row + place, x / squares, mask=place < columns)


@ARCHS
def test_all_loads_of_an_argument_are_alike(arch: str, kernels: Any) -> None:
    """What one loop loads the next one, which stores, finds in the L1 cache."""
    x, out = torch.randn(3, 300), torch.zeros(3, 300)
    normalised_kernel[(3,)](x, out, 300, BLOCK=128)
    assert torch.allclose(out, x / (x * x).sum(1, keepdim=True), rtol=1e-5)
    assert loads(kernels[0])[0] >= 2 and loads(kernels[0])[1] == 0


@triton.jit
def gated_kernel(x_ptr, gate_ptr, out_ptr, P: tl.constexpr):
    """Five numbers in each of many short iterations, one of which is stored."""
    row = tl.program_id(0)
    for p in range(P):
        total = tl.load(x_ptr + row * 4 * P + p) + 2 * tl.load(x_ptr + row * 4 * P + P + p)
        total += 3 * tl.load(x_ptr + row * 4 * P + 2 * P + p)
        total += 4 * tl.load(x_ptr + row * 4 * P + 3 * P + p)
        tl.store(out_ptr + row * P + p, total * tl.load(gate_ptr + row * P + p))


@ARCHS
def test_few_numbers_of_iterations_are_loaded_together(arch: str, kernels: Any) -> None:
    x, gate, out = torch.randn(3, 4, 40), torch.randn(3, 40), torch.zeros(3, 40)
    gated_kernel[(3,)](x, gate, out, P=40)
    want = (x * torch.arange(1.0, 5)[:, None]).sum(1) * gate
    assert torch.allclose(out, want, rtol=1e-5, atol=1e-5)
    assert loads(kernels[0]) == (4 * 5, 0)


@triton.jit
def nine_loads_kernel(x_ptr, out_ptr, P: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for p in range(P):
        for part in tl.static_range(9):
            total += tl.load(x_ptr + (part * P + p) * BLOCK + at) * (part + 1)
    tl.store(out_ptr + at, total)


@ARCHS
@pytest.mark.parametrize("count", [16, 18, 41])
def test_iterations_of_many_loads_are_unrolled(count: int, arch: str, kernels: Any) -> None:
    """Addresses of four iterations are then constants apart."""
    x, out = torch.randn(9, count, 32), torch.zeros(32)
    nine_loads_kernel[(1,)](x, out, P=count, BLOCK=32)
    want = (x.double() * torch.arange(1, 10)[:, None, None]).sum((0, 1))
    assert torch.allclose(out.double(), want, rtol=1e-4, atol=1e-3)
    assert sum(loads(kernels[0])) == 4 * 9


@triton.jit
def share_of_row_kernel(x_ptr, out_ptr, P: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for p in range(P):
        total += tl.load(x_ptr + p * BLOCK + at)
    whole = tl.sum(total)
    for p in range(P):
        tl.store(out_ptr + p * BLOCK + at, tl.load(x_ptr + p * BLOCK + at) / whole)


@ARCHS
@pytest.mark.parametrize("count", [16, 41])
def test_loops_that_only_load_keep_eight_loads_together(
    count: int, arch: str, kernels: Any
) -> None:
    """Also where another loop, which stores, made the loads of the argument read-only ones."""
    x, out = torch.rand(count, 32), torch.zeros(count, 32)
    share_of_row_kernel[(1,)](x, out, P=count, BLOCK=32)
    assert torch.allclose(out.double(), x.double() / x.double().sum(), rtol=1e-5, atol=0)
    assert loads(kernels[0]) == (8 + 4, 0)


@triton.jit
def shifted_kernel(x_ptr, out_ptr, n, MODE: tl.constexpr, BLOCK: tl.constexpr):
    """In ways that show what is stored, or what others store."""
    for start in range(0, n, BLOCK):
        place = start + tl.arange(0, BLOCK)
        if MODE == "own":  # the row that the iteration before has stored
            tl.debug_barrier()
            x = tl.load(out_ptr + place) + 1
            tl.store(out_ptr + place + BLOCK, x)
        elif MODE == "volatile":
            x = tl.load(x_ptr + place, volatile=True)
            tl.store(out_ptr + place, x)
        elif MODE == "atomic":
            x = tl.load(x_ptr + place)
            tl.atomic_add(out_ptr + place, x)
            tl.store(out_ptr + n + place, x)
        else:
            x = tl.load(x_ptr + place)
            tl.store(out_ptr + place, x)


@ARCHS
@pytest.mark.parametrize("mode", ["own", "volatile", "atomic", "plain"])
def test_what_others_may_write_is_loaded_in_its_place(mode: str, arch: str, kernels: Any) -> None:
    x, out = torch.randn(512), torch.zeros(1024)
    shifted_kernel[(1,)](x, out, 512, MODE=mode, BLOCK=128)
    if mode == "own":
        assert torch.equal(out[:640], torch.arange(5.0).repeat_interleave(128))
    else:
        assert torch.equal(out[:512], x)
    read_only, others = loads(kernels[0])
    assert read_only + others > 0
    assert (read_only > 0) == (mode == "plain")


@triton.jit
def steps_kernel(x_ptr, out_ptr, total_ptr, steps, STATE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x_ptrs, out_ptrs = x_ptr + at, out_ptr + at
    kept = tl.zeros((BLOCK,), tl.float32)
    for _ in range(steps):
        x = tl.load(x_ptrs)
        kept = 0.5 * kept + x
        tl.store(out_ptrs, kept if STATE else 2 * x)
        x_ptrs += BLOCK
        out_ptrs += BLOCK
    tl.store(total_ptr + at, kept)


@ARCHS
@pytest.mark.parametrize("is_state", [True, False])
def test_steps_of_time_are_loaded_in_turn(is_state: bool, arch: str, kernels: Any) -> None:
    """Where each iteration stores what it makes of the one before, but not where it only adds up
    what it loads."""
    steps, block = 5, 256
    x, out, total = torch.randn(steps, block), torch.zeros(steps, block), torch.zeros(block)
    steps_kernel[(1,)](x, out, total, steps, STATE=is_state, BLOCK=block)
    states = [x[0]]
    for step in x[1:]:
        states.append(0.5 * states[-1] + step)
    torch.testing.assert_close(total, states[-1])
    torch.testing.assert_close(out, torch.stack(states) if is_state else 2 * x)
    assert (loads(kernels[0])[0] == 0) == is_state


@triton.jit
def many_loads_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    for start in range(0, n, BLOCK):
        place = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + 2 * place, mask=place < n) + tl.load(x_ptr + 2 * place + 1)
        tl.store(out_ptr + place, x, mask=place < n)


@ARCHS
def test_long_iterations_keep_their_order(arch: str, kernels: Any) -> None:
    """Of many loads ptxas would put off some for the sake of registers."""
    x, out = torch.randn(4096), torch.zeros(2048)
    many_loads_kernel[(1,)](x, out, 2047, BLOCK=1024)
    want = x[0::2] + x[1::2]
    want[2047] = 0
    assert torch.equal(out, want)
    assert loads(kernels[0])[0] == 0


@triton.jit
def known_length_kernel(x_ptr, out_ptr, ROUNDS: tl.constexpr, BLOCK: tl.constexpr):
    for i in range(ROUNDS):
        place = i * BLOCK + tl.arange(0, BLOCK)
        tl.store(out_ptr + place, tl.load(x_ptr + place) * 2)


@ARCHS
def test_loops_of_known_length_have_loads_to_begin_together(arch: str, kernels: Any) -> None:
    x, out = torch.randn(64 * 128), torch.zeros(64 * 128)
    known_length_kernel[(1,)](x, out, ROUNDS=64, BLOCK=128)
    assert torch.equal(out, x * 2)
    assert loads(kernels[0]) == (4, 0)


@triton.jit
def fields_kernel(x_ptr, out_ptr, n, FIELDS: tl.constexpr, MODE: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for field in tl.static_range(FIELDS):
        place = row * FIELDS + field
        x = tl.load(x_ptr + place, mask=place < n)
        if MODE == "summed" and field == 3:
            x += tl.sum(x)
        tl.store(out_ptr + place, 2 * x, mask=place < n)


@ARCHS
@pytest.mark.parametrize("mode", ["plain", "summed", "in place"])
def test_loads_between_stores_begin_together(mode: str, arch: str, kernels: Any) -> None:
    """As many as fill a few registers: eight of 64 bits. Not past what takes longer, and not where
    a launch finds that what is stored is what is loaded."""
    x = torch.randn(9 * 12 - 5, dtype=torch.float64)
    want = 2 * x
    out = x if mode == "in place" else torch.zeros_like(x)
    fields_kernel[(1,)](x, out, len(x), FIELDS=12, MODE=mode, BLOCK=32, num_warps=1)
    if mode == "summed":
        assert torch.equal(out.view(-1)[:3], want[:3])
    else:
        assert torch.equal(out, want)
    order = re.findall(r"\b(ld|st)\.global", kernels[-1].asm["ptx"])
    runs = "".join(kind[0] for kind in order)
    expected = {
        "plain": "l" * 8 + "s" * 8 + "l" * 4 + "s" * 4,
        "summed": "l" * 4 + "s" * 3 + "sl" + "l" * 7 + "s" * 8,
        "in place": "ls" * 12,
    }
    assert runs == expected[mode], runs
