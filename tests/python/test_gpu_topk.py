"""tl.topk on a GPU: a network that keeps the better half of two runs, on the machine for PTX."""

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


@pytest.fixture
def machines(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Launches on CPU tensors go to the machine; the kernels that ran."""
    made: list[Any] = []

    def run(kernel: Any, grid: Any, values: list[Any]) -> None:
        machine = ptx_matrix_machine.Machine(kernel.asm["ptx"], kernel.metadata.num_warps)
        machine.run(grid, [storage_of(value) for value in values], kernel.metadata.shared)
        made.append(kernel)

    use(monkeypatch, MachineBackend("sm_90a", run))
    return made


@triton.jit
def topk_kernel(
    x_ptr, y_ptr, z_ptr, R: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    DESCENDING: tl.constexpr, SORTS: tl.constexpr,
):  # fmt: skip
    rows, columns = tl.arange(0, R), tl.arange(0, N)
    x = tl.load(x_ptr + rows[:, None] * N + columns[None, :])
    y = tl.topk(x, K, descending=DESCENDING)
    tl.store(y_ptr + rows[:, None] * K + tl.arange(0, K)[None, :], y)
    if SORTS:
        z = tl.sort(x, descending=DESCENDING)
        tl.store(z_ptr + rows[:, None] * N + columns[None, :], z)


def best(x: Any, k: int, descending: bool) -> Any:
    return x.double().sort(dim=1, descending=descending).values[:, :k].to(x.dtype)


@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("k", [1, 2, 8, 64])
@pytest.mark.parametrize(
    ("rows", "size", "warps"),
    [(1, 64, 1), (1, 128, 4), (1, 2048, 4), (4, 128, 1), (16, 256, 4), (64, 64, 2), (2, 512, 8)],
)
def test_topk(rows: int, size: int, warps: int, k: int, descending: bool, machines: Any) -> None:
    x = torch.randint(-99, 100, (rows, size)).float()  # with equal ones
    y = torch.zeros(rows, k)
    topk_kernel[(1,)](x, y, y, rows, size, k, descending, False, num_warps=warps)
    assert torch.equal(y, best(x, k, descending))
    if size >= 4 * k:  # only these go through shared memory, or one key of each thread
        assert machines[0].metadata.shared <= max(4 * rows * k, 16384)


@pytest.mark.parametrize("dtype", [torch.int8, torch.float16, torch.int64, torch.uint8])
def test_topk_of_other_types(dtype: Any, machines: Any) -> None:
    x = torch.randint(0, 100, (4, 256)).to(dtype)
    y = torch.zeros(4, 8, dtype=dtype)
    topk_kernel[(1,)](x, y, y, 4, 256, 8, True, False)
    assert torch.equal(y, best(x, 8, True))


def test_all_of_a_sort_that_something_else_needs(machines: Any) -> None:
    x, y = torch.randn(4, 256), torch.zeros(4, 8)
    z = torch.zeros_like(x)
    topk_kernel[(1,)](x, y, z, 4, 256, 8, True, True)
    assert torch.equal(y, best(x, 8, True))
    assert torch.equal(z, best(x, 256, True))


def test_nans_and_zeros(machines: Any) -> None:
    x = torch.full((1, 128), -1.0)
    x[0, 5], x[0, 70], x[0, 100], x[0, 30] = float("nan"), float("inf"), 0.0, -0.0
    y = torch.zeros(1, 4)
    topk_kernel[(1,)](x, y, y, 1, 128, 4, True, False)
    assert y[0, 0].isnan() and y[0, 1] == float("inf")
    assert y[0, 2:].tolist() == [0, 0] and y[0, 2:].signbit().tolist() == [False, True]
