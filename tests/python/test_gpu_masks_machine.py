"""Kernels with more masks than a thread has predicate registers, without a GPU: where the masks
are kept, and the results; run by ptx_machine.py.
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


def masks(kernel: Any, access: str) -> list[str]:
    """The predicate registers of loads or stores, as PTX names them, in order."""
    return re.findall(rf"@(%p\d+) {access}\.global", kernel.asm["ptx"])


def kept(kernel: Any) -> int:
    """How many masks are kept as bits."""
    return len(re.findall(r"@%p\d+ or\.b32", kernel.asm["ptx"]))


@triton.jit
def double_kernel(x_ptr, n, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + place, tl.load(x_ptr + place, mask=place < n) * 2, mask=place < n)


@ARCHS
@pytest.mark.parametrize(
    ("block", "n"), [(1024, 1999), (1024, 1025), (8192, 8191), (8192, 5), (8192, 8193), (512, 999)]
)
def test_many_masks_are_bits_between_loads_and_stores(
    block: int, n: int, arch: str, kernels: Any
) -> None:
    x = torch.randn(2 * block)
    want = torch.cat([x[:n] * 2, x[n:]])
    double_kernel[(2,)](x, n, BLOCK=block, num_warps=4)
    assert torch.equal(x, want)
    loads, stores = masks(kernels[0], "ld"), masks(kernels[0], "st")
    assert len(set(loads)) == len(set(stores)) == block // 128
    if block == 512:  # these fit
        assert kept(kernels[0]) == 0 and loads == stores
    else:
        assert kept(kernels[0]) == block // 128 and not set(loads) & set(stores)


@triton.jit
def gather_kernel(index_ptr, x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    place = tl.arange(0, BLOCK)
    inside = place < n
    index = tl.load(index_ptr + place, mask=inside, other=0)
    x = tl.load(x_ptr + index, mask=inside, other=-1.0)
    tl.store(out_ptr + place, x, mask=inside)
    tl.store(out_ptr + BLOCK, tl.sum(tl.where(inside, x, 3.0)))


@ARCHS
@pytest.mark.parametrize("n", [1023, 517, 3])
def test_indices_and_what_they_lead_to(n: int, arch: str, kernels: Any) -> None:
    """Loads whose addresses were loaded wait for these: each group of loads has masks of its
    own."""
    index, x = torch.randint(0, 2000, (1024,), dtype=torch.int32), torch.randint(-9, 9, (2000,))
    out = torch.full((1025,), 7.0)
    gather_kernel[(1,)](index, x.float(), out, n, BLOCK=1024, num_warps=4)
    rows = x.float()[index[:n].long()]
    assert torch.equal(out[:n], rows) and (out[n:-1] == 7).all()
    assert out[-1] == rows.sum() + 3 * (1024 - n)
    loads, stores = masks(kernels[0], "ld"), masks(kernels[0], "st")
    first, second = loads[:8], loads[8:16]
    assert len(set(first)) == len(set(second)) == 8
    assert not set(first) & set(second) and not set(second) & set(stores)


@triton.jit
def clipped_copy_kernel(x_ptr, out_ptr, n, low, BLOCK: tl.constexpr):
    """In a loop: the masks are made in each iteration, and would be words in each."""
    for begin in range(0, n, BLOCK):
        place = begin + tl.arange(0, BLOCK)
        inside = (place < n) & (place % 3 != low)
        x = tl.load(x_ptr + place, mask=inside, other=1.0)
        tl.store(out_ptr + place, tl.where(inside, x, 5.0), mask=place < n)


@ARCHS
def test_masks_of_loops_and_their_selections(arch: str, kernels: Any) -> None:
    x, out = torch.randn(2500), torch.zeros(2500)
    clipped_copy_kernel[(1,)](x, out, 2499, 1, BLOCK=1024, num_warps=4)
    want = torch.where(torch.arange(2500) % 3 != 1, x, 5.0)
    want[2499] = 0
    assert torch.equal(out, want)
    assert kept(kernels[0]) == 0


@triton.jit
def sum_kernel(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    place = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + place, mask=place < n)
    tl.store(z_ptr + place, x + tl.load(y_ptr + place, mask=place < n), mask=place < n)


@ARCHS
@pytest.mark.parametrize(("block", "bits"), [(4096, 32), (8192, 0)])
def test_what_would_fill_the_registers_keeps_its_masks(
    block: int, bits: int, arch: str, kernels: Any
) -> None:
    x, y, z = torch.randn(block), torch.randn(block), torch.zeros(block)
    sum_kernel[(1,)](x, y, z, block - 3, BLOCK=block, num_warps=4)
    assert torch.equal(z[:-3], (x + y)[:-3]) and (z[-3:] == 0).all()
    assert kept(kernels[0]) == bits


@triton.jit
def swap_ends_kernel(x_ptr, n, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = place < n // 2
    first = tl.load(x_ptr + place, mask=mask)
    last = tl.load(x_ptr + (n - 1 - place), mask=mask)
    tl.store(x_ptr + place, last, mask=mask)
    tl.store(x_ptr + (n - 1 - place), first, mask=mask)


@pytest.mark.parametrize("arch", ["sm_90a"])
@pytest.mark.parametrize("n", [1000, 2048])
def test_carries_of_addresses_leave_masks_their_predicates(n: int, arch: str, kernels: Any) -> None:
    x = torch.arange(n, dtype=torch.float32)
    want = x.flip(0)
    swap_ends_kernel[(-(-n // 2048),)](x, n, BLOCK=1024, num_warps=4)
    torch.testing.assert_close(x, want, rtol=0, atol=0)
    ptx = kernels[0].asm["ptx"]
    assert "mul.wide" in ptx and "mad.wide" not in ptx
