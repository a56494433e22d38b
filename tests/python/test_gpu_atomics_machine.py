"""Sums by atomics, without a GPU: vectors of floats where memory allows it, each element once; run
by ptx_matrix_machine.py.
"""

from __future__ import annotations

import re
from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import ptx_machine
import pytest

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)
ARCHS = pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


def atomics(ptx: str) -> set[str]:
    """What atomics of the kernel do: "red add.v4.f32"."""
    found = re.findall(r"\b(red|atom)\.\w+\.gpu\.global\.([\w.]+)", ptx)
    return {f"{name} {operation}" for name, operation in found}


@triton.jit
def rows_kernel(x_ptr, rows_ptr, out_ptr, old_ptr, columns, stride, ROWS: tl.constexpr,
                COLUMNS: tl.constexpr, KEEP: tl.constexpr):  # fmt: skip
    rows, offsets = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    inside = offsets[None, :] < columns
    x = tl.load(x_ptr + rows[:, None] * COLUMNS + offsets[None, :])
    places = tl.load(rows_ptr + rows)[:, None] * stride + offsets[None, :]
    old = tl.atomic_add(out_ptr + places, x.to(out_ptr.dtype.element_ty), mask=inside)
    if KEEP:
        tl.store(old_ptr + rows[:, None] * COLUMNS + offsets[None, :], old)


WIDEST = {
    ("sm_80", "fp32"): "add.f32",
    ("sm_80", "fp16"): "add.noftz.f16x2",
    ("sm_80", "bf16"): "cas.b16",
    ("sm_90a", "fp32"): "add.v4.f32",
    ("sm_90a", "fp16"): "add.noftz.v4.f16x2",
    ("sm_90a", "bf16"): "add.noftz.v4.bf16x2",
}
ONE = {"fp32": "add.f32", "fp16": "add.noftz.f16", "bf16": "add.noftz.bf16"}


@ARCHS
@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize(("columns", "stride"), [(64, 64), (48, 80), (37, 64), (64, 67)])
def test_rows_added_to_rows(
    columns: int, stride: int, keep: bool, name: str, arch: str, kernels: Any
) -> None:
    """Rows that several rows are added to, and some where nothing is."""
    dtype, count = DTYPES[name], 16
    x = torch.randint(-4, 5, (count, 64), dtype=torch.int8).to(torch.float16)
    rows = torch.randint(0, count, (count,), dtype=torch.int32)
    if keep:
        rows = torch.randperm(count, dtype=torch.int32)
    out = torch.randint(0, 9, (count, stride)).to(dtype)
    old = torch.zeros(count, 64, dtype=dtype)
    want, before = out.double(), out[rows.long(), :columns].clone()
    for row, place in enumerate(rows.tolist()):
        want[place, :columns] += x[row, :columns].double()
    rows_kernel[(1,)](x, rows, out, old, columns, stride, ROWS=count, COLUMNS=64, KEEP=keep,
                      num_warps=2)  # fmt: skip
    assert torch.equal(out.double(), want)
    if keep:
        assert torch.equal(old[:, :columns], before)
        assert not old[:, columns:].any()
    operation = WIDEST[arch, name]
    if columns % 16 or stride % 16:
        operation = operation if operation.startswith("cas") else ONE[name]
    word = "atom" if keep or operation.startswith("cas") else "red"
    assert atomics(kernels[0].asm["ptx"]) == {f"{word} {operation}"}


@triton.jit
def split_k_kernel(a_ptr, b_ptr, c_ptr, m, n, k, SPLIT: tl.constexpr, M: tl.constexpr,
                   N: tl.constexpr, K: tl.constexpr):  # fmt: skip
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.arange(0, N)
    inner = tl.program_id(1) * K + tl.arange(0, K)
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, k, K * SPLIT):
        left = k - start
        a = tl.load(a_ptr + rows[:, None] * k + (start + inner)[None, :],
                    mask=(rows[:, None] < m) & (inner[None, :] < left), other=0.0)  # fmt: skip
        b = tl.load(b_ptr + (start + inner)[:, None] * n + columns[None, :],
                    mask=(inner[:, None] < left) & (columns[None, :] < n), other=0.0)  # fmt: skip
        total = tl.dot(a, b, total)
    places = c_ptr + rows[:, None] * n + columns[None, :]
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tl.atomic_add(places, total.to(c_ptr.dtype.element_ty), mask=inside, sem="relaxed")


@ARCHS
@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize(("m", "n", "k"), [(128, 64, 128), (100, 48, 160), (70, 37, 64)])
def test_split_k(m: int, n: int, k: int, name: str, arch: str, kernels: Any) -> None:
    """What dots leave in their threads goes to vectors, whole or partial tiles."""
    a, b = (torch.randint(-2, 3, s).half() for s in ((m, k), (k, n)))
    c = torch.randint(0, 9, (m, n)).to(DTYPES[name])
    want = c.double() + a.double() @ b.double()
    split_k_kernel[((m + 63) // 64, 2)](a, b, c, m, n, k, SPLIT=2, M=64, N=64, K=32)
    assert torch.equal(c.double(), want.to(DTYPES[name]).double())
    if n % 16 == 0:
        (found,) = atomics(kernels[0].asm["ptx"])
        assert found.endswith(WIDEST[arch, name])


@triton.jit
def sums_kernel(x_ptr, out_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    x = tl.load(x_ptr + rows[:, None] * COLUMNS + columns[None, :])
    tl.atomic_add(out_ptr + columns, tl.sum(x, 0), sem="relaxed")


@ARCHS
@pytest.mark.parametrize("columns", [1, 2, 8, 64])
@pytest.mark.parametrize("warps", [1, 4])
def test_copies_add_once(warps: int, columns: int, arch: str, kernels: Any) -> None:
    """Fewer elements than threads: one of those that hold an element adds it."""
    x, out = torch.randint(0, 5, (32, columns)).float(), torch.ones(columns)
    sums_kernel[(1,)](x, out, ROWS=32, COLUMNS=columns, num_warps=warps)
    assert torch.equal(out, 1 + x.sum(0))


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a", "sm_103a", "sm_120a", "sm_121a"])
@pytest.mark.parametrize("dtype", [tl.float32, tl.float16, tl.bfloat16])
@pytest.mark.parametrize("keep", [False, True])
def test_all_gpus_assemble_them(keep: bool, dtype: Any, arch: str) -> None:
    kernel = rows_kernel.warmup(
        tl.float16, tl.int32, dtype, dtype, 64, 64, ROWS=16, COLUMNS=64, KEEP=keep, grid=(1,),
        arch=arch,
    )  # fmt: skip
    has_vectors = arch != "sm_80"
    assert (".v4." in " ".join(atomics(kernel.asm["ptx"]))) == has_vectors
    assert kernel.n_spills == 0


@triton.jit
def largest_kernel(x_ptr, out_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * N + tl.arange(0, N))
    tl.atomic_max(out_ptr, tl.max(x, 0))


@ARCHS
@pytest.mark.parametrize("warps", [1, 4])
def test_what_is_no_larger_is_not_put_into_memory(
    warps: int, arch: str, kernels: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no such atomic: a program that finds more in memory makes none."""
    swaps: list[int] = []
    op_atom = ptx_machine.Machine.op_atom

    def counted(machine: Any, instruction: Any, at: Any) -> None:
        assert instruction.has("cas")
        swaps.append(len(at))
        op_atom(machine, instruction, at)

    monkeypatch.setattr(ptx_machine.Machine, "op_atom", counted)
    nan, inf = float("nan"), float("inf")
    largest = torch.tensor([-3.0, -5.0, nan, -2.0, 4.0, -inf, 4.0, 1.0, nan])
    x = torch.full((len(largest), 64), -inf)
    x[:, 5] = largest
    x[largest.isnan()] = nan
    out = torch.tensor([-inf])
    largest_kernel[(len(largest),)](x, out, N=64, num_warps=warps)
    assert out.item() == 4 and sum(swaps) == 3
    out = torch.tensor([nan])  # a number is more than none
    largest_kernel[(len(largest),)](x, out, N=64, num_warps=warps)
    assert out.item() == 4 and sum(swaps) == 6


def test_who_does_no_atomic_fences_none() -> None:
    """Threads meet on both sides: the fence of the one that does the atomic orders them all."""
    kernel = largest_kernel.warmup(tl.float32, tl.float32, N=64, grid=(1,), arch="sm_90a")
    ptx = kernel.asm["ptx"]
    (fence,) = re.finditer(r"fence\.acq_rel\.gpu", ptx)
    assert "bra " in ptx[ptx.rindex("bar.sync", 0, fence.start()) : fence.start()]
