"""Inline assembly on the GPU gives what the CPU makes of the same text.

Each instruction that the GPU has, and kernels with memory, order and packing.
"""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
cases = pytest.importorskip("inline_asm_cases")
runner = pytest.importorskip("inline_asm_runner")
kernels = pytest.importorskip("test_inline_asm_kernels")


def _has(arch: str) -> bool:
    """Whether this GPU has the instructions of a row; those of sm_100a are only there."""
    major, minor = torch.cuda.get_device_capability()
    needed = int(arch.strip("sm_a") or 0)
    return 10 * major + minor >= needed and (arch != "sm_100a" or major == 10)


@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.name)
def test_instruction(case: Any, device: str) -> None:
    if not _has(case.arch):
        pytest.skip(f"'{case.name}' needs {case.arch}")
    found, expected = runner.run(case, device), runner.run(case)
    assert cases.same(case, found, expected, case.gpu_ulps), case.text


def test_bytes_share_a_register(device: str) -> None:
    for count in (32, 128, 512, 4096):
        x = torch.randint(0, 256, (count,), device=device).to(torch.uint8)
        y = torch.zeros_like(x)
        kernels.shift_bytes[(1,)](x, y, count)
        assert torch.equal(y, (x & 15) << 4)


def test_several_results_of_different_widths(device: str) -> None:
    x = torch.arange(256, device=device).to(torch.uint8)
    f = torch.randn(256, device=device)
    integers = torch.zeros(256, dtype=torch.int32, device=device)
    halves = torch.zeros(256, dtype=torch.float16, device=device)
    kernels.widen_bytes[(1,)](x, f, integers, halves, 256)
    assert torch.equal(integers, x.to(torch.int32))
    assert torch.equal(halves, (x.to(torch.float32) + f).to(torch.float16))


def test_constants_and_16_bit_registers(device: str) -> None:
    x = torch.randint(0, 2**31, (128,), dtype=torch.int32, device=device)
    low, high = torch.zeros(2, 128, dtype=torch.float16, device=device)
    kernels.unpack_nibbles[(1,)](x, low, high, 128)
    assert torch.equal(low, (x & 15).to(torch.float16))
    assert torch.equal(high, (x >> 16 & 15).to(torch.float16))


def test_memory_with_predicates_and_vectors(device: str) -> None:
    x = torch.randn(64, device=device)
    y = torch.zeros_like(x)
    kernels.copy_by_assembly[(1,)](x, y, 10, 32)
    assert torch.equal(y[:20].view(10, 2), x[:20].view(10, 2).flip(1))
    assert not y[20:].any()


def test_impure_assembly_keeps_its_order(device: str) -> None:
    out = torch.zeros(3, dtype=torch.int32, device=device)
    x = torch.tensor([5], dtype=torch.int32, device=device)
    kernels.in_order[(1,)](x, out, num_warps=1)
    assert out.tolist()[0] in (5, 7, 9) and out.tolist()[2] == 9
    assert x.item() == 9


def test_clocks_go_on(device: str) -> None:
    out = torch.zeros(1, dtype=torch.int64, device=device)
    kernels.spend_time[(1,)](out)
    assert out.item() > 10_000


def test_in_reductions_maps_and_loops(device: str) -> None:
    x = torch.randint(-1000, 1000, (64,), dtype=torch.int32, device=device)
    out = torch.zeros(3, dtype=torch.int32, device=device)
    kernels.in_functions[(1,)](x, out, 64)
    assert out.tolist() == [x.max().item(), 2 * x.sum().item(), 6]


@pytest.mark.parametrize("warps", [1, 8])
def test_numbers_of_a_launch(warps: int, device: str) -> None:
    out = torch.full((5,), -1, dtype=torch.int32, device=device)
    kernels.target_numbers[(1,)](out, num_warps=warps)
    found = out.tolist()
    assert 0 <= found.pop(2) < torch.cuda.get_device_properties(0).multi_processor_count
    assert found == [warps, 32 * warps, 32 * warps, 32 * warps]
