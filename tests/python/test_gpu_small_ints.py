"""Small integers as floats on a GPU, without its converting instruction: every value, exactly."""

from __future__ import annotations

from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import ptx_matrix_machine
import pytest
from machine_backend import MachineBackend, storage_of, use

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)
FLOATS = [torch.float16, torch.bfloat16, torch.float32]


@pytest.fixture
def texts(arch: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Launches on CPU tensors go to the machine; the PTX of those that ran."""
    made: list[str] = []

    def run(kernel: Any, grid: Any, values: list[Any]) -> None:
        machine = ptx_matrix_machine.Machine(kernel.asm["ptx"], kernel.metadata.num_warps)
        machine.run(grid, [storage_of(value) for value in values], kernel.metadata.shared)
        made.append(kernel.asm["ptx"])

    use(monkeypatch, MachineBackend(arch, run))
    return made


@triton.jit
def cast_kernel(x_ptr, y_ptr, N: tl.constexpr, MASK: tl.constexpr, LESS: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    if MASK:
        x = (x & MASK) - LESS
    tl.store(y_ptr + i, x.to(y_ptr.dtype.element_ty))


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("warps", [1, 4, 8])  # 8, 2 and 1 of them in a thread
@pytest.mark.parametrize("to", FLOATS)
@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8])
def test_bytes(dtype: Any, to: Any, warps: int, arch: str, texts: list[str]) -> None:
    x = torch.arange(256).to(torch.uint8).view(dtype)
    y = torch.zeros(256, dtype=to)
    cast_kernel[(1,)](x, y, 256, 0, 0, num_warps=warps)
    assert torch.equal(y, x.to(to))
    assert not y.signbit()[x == 0].any()
    assert "rn.f32.s" not in texts[0] and "rn.f16.s" not in texts[0]


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("to", FLOATS)
@pytest.mark.parametrize("dtype", [torch.int16, torch.int32, torch.int64])
@pytest.mark.parametrize(
    ("mask", "less"), [(15, 0), (15, 8), (127, 0), (127, 64), (1023, 0), (1023, 512), (2047, 1024)]
)
def test_ranges_that_are_known(
    mask: int, less: int, dtype: Any, to: Any, arch: str, texts: list[str]
) -> None:
    x = torch.arange(4096).to(dtype) - 1000
    y = torch.zeros(4096, dtype=to)
    cast_kernel[(1,)](x, y, 4096, mask, less)
    assert torch.equal(y, ((x & mask) - less).to(to))
    if to == torch.float16 and mask < 1024 and mask + less < 1024:
        assert "rn.f16.s" not in texts[0] and "rn.f32.s" not in texts[0]


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("to", FLOATS)
def test_all_other_integers(to: Any, arch: str, texts: list[str]) -> None:
    x = torch.randint(-(2**31), 2**31, (1024,)).to(torch.int32) >> torch.arange(1024) % 32
    x = x.to(torch.int32)
    y = torch.zeros(1024, dtype=to)
    cast_kernel[(1,)](x, y, 1024, 0, 0)
    assert torch.equal(y, x.double().to(to))  # rounded once
