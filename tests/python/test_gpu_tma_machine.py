"""A part of tests/gpu/test_tma.py without a GPU: the PTX of its launches, run by
ptx_matrix_machine.py, and what that machine finds when a wait or a fence is missing.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import machine_backend
import ptx_matrix_machine
import ptx_tma_machine
import pytest
from blockscope.tools.tensor_descriptor import TensorDescriptor

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
import test_tma as tma  # noqa: E402

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)
ARCHS = pytest.mark.parametrize("arch", ["sm_90a", "sm_120a"])
ONE_ARCH = pytest.mark.parametrize("arch", ["sm_90a"])
Machine = ptx_matrix_machine.Machine
PtxError = ptx_matrix_machine.PtxError
HALF = torch.float16


@pytest.fixture
def machines(arch: str, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Launches on CPU tensors go to the machine; all machines that ran, in order."""
    torch.manual_seed(7)
    return machine_backend.record_machines(monkeypatch, arch)


def forms(machine: Any) -> set[str]:
    """How the kernel copies: "load" and "store" by TMA, "cp.async"."""
    found = set()
    for i in machine.code:
        if i.parts[0] == "cp" and i.has("tensor"):
            found.add("load" if i.has("mbarrier") else "store")
        elif i.parts[0] == "cp" and not i.has("bulk"):
            found.add("cp.async")
    return found


@ARCHS
@pytest.mark.parametrize("dtype,shape,tile,trans", tma.TYPED)
def test_matmul(dtype: Any, shape: Any, tile: Any, trans: Any, arch: str, machines: Any) -> None:
    tma.run_typed_matmul(dtype, shape, tile, trans, "cpu")
    assert forms(machines[0]) == {"load", "store"}


@ONE_ARCH
@pytest.mark.parametrize("stages", [1, 2, 4])
def test_stages(stages: int, arch: str, machines: Any) -> None:
    tma.run_typed_matmul(HALF, (64, 128, 208), (64, 64, 32), False, "cpu", stages=stages)


@ONE_ARCH
def test_matmul_of_large_tiles(arch: str, machines: Any) -> None:
    tma.run_typed_matmul(HALF, (144, 272, 144), (128, 256, 64), False, "cpu", warps=8)


@ARCHS
@pytest.mark.parametrize("shape", [(144, 80, 48), (16, 16, 16)])
def test_matmul_with_descriptors_of_the_host(shape: Any, arch: str, machines: Any) -> None:
    tma.run_host_matmul(shape, (64, 64, 32), "cpu")
    assert forms(machines[0]) == {"load", "store"}


@ONE_ARCH
@pytest.mark.parametrize("n,k", [(64, 32), (144, 96)])
def test_two_descriptors_of_one_tensor(n: int, k: int, arch: str, machines: Any) -> None:
    tma.run_symmetric(n, k, "cpu")
    assert forms(machines[0]) == {"load", "store"}


@ONE_ARCH
def test_sums_are_stored_from_where_they_are(arch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """128 sums a thread, added to a tile and stored, also transposed: the tile comes by TMA,
    nothing is converted, and nothing is held for what threads store where TMA cannot."""
    kernels = machine_backend.record(monkeypatch, arch)
    tma.run_symmetric(128, 64, "cpu", tile=128)
    assert "convert_layout" not in kernels[0].asm["tlg"]
    assert kernels[0].n_regs <= 168 and kernels[0].n_spills == 0  # three CTAs fit


@triton.jit
def added_kernel(a_desc, b_desc, c_desc, z_ptr, K, B: tl.constexpr):
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        acc = tl.dot(a_desc.load([0, k]), b_desc.load([k, 0]), acc)
    z = tl.load(z_ptr + tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :])
    c_desc.store([0, 0], acc + z)


@ONE_ARCH
def test_conversions_take_the_bytes_of_rings(arch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind the loop the ring is not needed, nor yet the buffer of the store, which is there."""
    kernels = machine_backend.record(monkeypatch, arch)
    size, depth = 64, 192
    a, b = torch.randn(size, depth).to(HALF), torch.randn(depth, size).to(HALF)
    c, z = torch.zeros(size, size), torch.randn(size, size)
    descriptors = [TensorDescriptor.from_tensor(tensor, [size, size]) for tensor in (a, b, c)]
    added_kernel[(1,)](*descriptors, z, depth, size)
    assert torch.allclose(c.double(), a.double() @ b.double() + z.double(), atol=1e-3)
    assert "convert_layout" in kernels[0].asm["tlg"]
    ring = kernels[0].asm["plan"].count("8192 bytes a buffer") * 3 * 8192
    assert ring and kernels[0].metadata.shared <= ring + 64


@ARCHS
@pytest.mark.parametrize("shape", [(144, 144, 112), (128, 192, 16)])
@pytest.mark.parametrize("programs", [1, 3])
def test_loop_in_a_loop(shape: Any, programs: int, arch: str, machines: Any) -> None:
    tma.run_matmul(tma.persistent_kernel, shape, (64, 64, 32), "cpu", 4, 3, (programs,))
    assert forms(machines[0]) == {"load", "store"}


@ARCHS
@pytest.mark.parametrize("stages", [2, 3])
def test_descriptor_and_pointers_in_one_loop(stages: int, arch: str, machines: Any) -> None:
    tma.run_matmul(tma.mixed_kernel, (144, 96, 80), (64, 64, 32), "cpu", 4, stages)
    assert forms(machines[0]) == {"load", "cp.async"}


@ARCHS
@pytest.mark.parametrize("kernel", [tma.block_pointer_kernel, tma.two_loops_kernel])
@pytest.mark.parametrize("shape", [(144, 96, 80), (80, 80, 16)])
def test_other_loops(kernel: Any, shape: Any, arch: str, machines: Any) -> None:
    tma.run_matmul(kernel, shape, (64, 64, 32), "cpu")
    assert forms(machines[0]) == {"load", "store"}


@ONE_ARCH
@pytest.mark.parametrize("shape", [(144, 96, 64), (64, 256, 48)])
def test_first_operand_of_a_loop(shape: Any, arch: str, machines: Any) -> None:
    tma.test_first_operand_of_a_loop(shape, "cpu")
    assert forms(machines[0]) == {"load", "store"}


@ARCHS
@pytest.mark.parametrize("size,stages", [(64, 1), (64, 2), (32, 3)])
def test_attention(size: int, stages: int, arch: str, machines: Any) -> None:
    tma.run_attention(2, 128, size, 64, 32, "cpu", 4, stages)
    if stages > 1:
        assert forms(machines[0]) == {"load", "store"}


@ARCHS
@pytest.mark.parametrize("shape", [(2, 1, 96, 64), (1, 2, 64, 32)])
@pytest.mark.parametrize("stages", [1, 3])
def test_heads(shape: Any, stages: int, arch: str, machines: Any) -> None:
    tma.test_heads(shape, stages, "cpu")
    if stages > 1:
        assert forms(machines[0]) == {"load", "store"}


@ONE_ARCH
@pytest.mark.parametrize("m,n,stride,first,to,block", tma.COPIES_2D)
def test_copy_2d(m: int, n: int, stride: int, first: Any, to: Any, block: Any, arch: str,
                 machines: Any) -> None:  # fmt: skip
    tma.run_copy_2d(m, n, stride, first, to, block, HALF, "zero", "cpu")
    # Threads that load whole vectors store them, too.
    holds_vectors = any(i.has("v4") and i.parts[0] == "ld" for i in machines[0].code)
    assert ("store" in forms(machines[0])) != holds_vectors


@ONE_ARCH
@pytest.mark.parametrize("first,to", [(0, 0), (200, 10), (-20, 220), (1 << 30, 0)])
def test_copy_1d(first: int, to: int, arch: str, machines: Any) -> None:
    tma.test_copy_1d(250, first, to, 64, HALF, "cpu")
    assert "store" in forms(machines[0])


@ONE_ARCH
def test_copy_3d(arch: str, machines: Any) -> None:
    tma.test_copy_3d((5, 20, 80), (3, 10, 40), (4, 16, 64), HALF, "cpu")
    tma.test_copy_3d((5, 20, 80), (-1, -2, -3), (2, 8, 128), HALF, "cpu")
    assert "store" in forms(machines[0])


@ONE_ARCH
def test_order_of_memory(arch: str, machines: Any) -> None:
    tma.test_order_of_memory("cpu")
    assert "cp.async.bulk.wait_group 0" in {i.text for i in machines[0].code}
    tma.test_a_store_is_seen_by_the_next_iteration("cpu")


@ONE_ARCH
def test_what_tma_cannot_do(arch: str, machines: Any) -> None:
    tma.test_copy_with_nan_as_padding("cpu")
    with pytest.raises(PtxError, match="no tensor map"):  # where a launch takes another kernel
        tma.test_odd_strides("cpu")


@ONE_ARCH
@pytest.mark.parametrize("step", [1, 3])
def test_loads_that_begin_anywhere(step: int, arch: str, machines: Any) -> None:
    tma.test_loads_that_begin_anywhere(step, "cpu")
    assert "load" not in forms(machines[0])


@triton.jit
def sums_of_tiles(out, x, count, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    tiles = tl.make_tensor_descriptor(x, [ROWS, 512], [512, 1], [ROWS, COLUMNS])
    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    for i in tl.range(0, count, num_stages=2):
        total += tiles.load([0, i * COLUMNS]).to(tl.float32)
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(out + at, total)


def run_sums(warps: int) -> None:
    x, out = torch.randint(-9, 9, (16, 512)).to(HALF), torch.empty(16, 32)
    sums_of_tiles[(1,)](out, x, 9, 16, 32, num_warps=warps)
    torch.testing.assert_close(out, x[:, :288].float().view(16, 9, 32).sum(1))


@ONE_ARCH
@pytest.mark.parametrize("warps", [1, 4])
def test_lanes_that_part_fence_one_by_one(
    warps: int, arch: str, machines: Any, monkeypatch: Any
) -> None:
    """The lane that copies comes later to the next iteration, and so to its fence."""
    run_sums(warps)
    assert "load" in forms(machines[0])
    read = Machine._read
    last = "fence.proxy.async.shared::cta;\n\t// end inline asm\n\tbar.sync \t0;\n\tsetp.gt"

    def broken(self: Any, ptx: str) -> None:
        assert last in ptx
        read(self, ptx.replace(last, "//" + last))

    monkeypatch.setattr(Machine, "_read", broken)
    with pytest.raises(PtxError, match=r"no fence\.proxy\.async"):
        run_sums(warps)


# -- mistakes that the machine finds ---------------------------------------------------------------

BROKEN = [
    (r"{.reg .pred p; wait: mbarrier.try_wait", "{.reg .pred p; skip: mbarrier.try_wait", "nobody"),
    ("bar.sync", "// bar.sync", "just"),
    ("fence.proxy.async", "// fence.proxy.async", "no fence.proxy.async"),
    ("fence.mbarrier_init", "// fence.mbarrier_init", "before its fence"),
    ("wgmma.wait_group.sync.aligned 1;", "", "while wgmma|nobody has written|just"),
    ("cp.async.bulk.wait_group.read 0;", "", "ends before its copies"),
]


@ONE_ARCH
@pytest.mark.parametrize("found,instead,message", BROKEN)
def test_what_is_missing_is_found(found: str, instead: str, message: str, arch: str,
                                  machines: Any, monkeypatch: Any) -> None:  # fmt: skip
    read = Machine._read

    def broken(self: Any, ptx: str) -> None:
        assert found in ptx or "skip" in instead
        read(self, ptx.replace(found, instead))

    if "skip" in instead:
        monkeypatch.setattr(ptx_tma_machine.Tma, "_wait", lambda *_: None)
    else:
        monkeypatch.setattr(Machine, "_read", broken)
    with pytest.raises(PtxError, match=message):
        tma.run_typed_matmul(HALF, (64, 64, 256), (64, 64, 32), False, "cpu")


@triton.jit
def sum_of_products(a_ptr, b_ptr, c_ptr, seen_ptr, K: tl.constexpr, LOOKS: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, [64, K], [K, 1], [64, 32])
    b = tl.make_tensor_descriptor(b_ptr, [K, 64], [64, 1], [32, 64])
    i = tl.arange(0, 64)
    for part in range(2):
        total = tl.zeros([64, 64], tl.float32)
        for k in range(0, K, 32):
            total = tl.dot(a.load([0, k]), b.load([k, 0]), total)
        before = tl.atomic_add(c_ptr + i[:, None] * 64 + i, total * (part + 1))
        if LOOKS:
            tl.store(seen_ptr, tl.max(before))


@ONE_ARCH
@pytest.mark.parametrize("looks,form", [(False, "load"), (True, "cp.async")])
def test_loads_behind_atomics(looks: bool, form: str, arch: str, machines: Any) -> None:
    a, b = torch.randn(64, 96).half(), torch.randn(96, 64).half()
    c, seen = torch.zeros(64, 64), torch.zeros(1)
    sum_of_products[(1,)](a, b, c, seen, 96, looks)
    torch.testing.assert_close(c, a.float() @ b.float() * 3, rtol=1e-3, atol=1e-2)
    assert forms(machines[0]) == {form}


@triton.jit
def product_assumed(c, a, b, K: tl.constexpr):
    row = tl.program_id(0) * 64
    tl.assume(row >= 0)
    total = tl.zeros([64, 64], tl.float32)
    for k in range(0, K, 32):
        total = tl.dot(a.load([row, k]), b.load([0, k]).T, total)
    c.store([row, 0], total)


@ONE_ARCH
def test_accesses_behind_an_assumption(arch: str, machines: Any) -> None:
    a, b, c = torch.randn(128, 96).half(), torch.randn(64, 96).half(), torch.zeros(128, 64)
    pairs = zip((c, a, b), ([64, 64], [64, 32], [64, 32]), strict=True)
    product_assumed[(2,)](*(TensorDescriptor.from_tensor(*pair) for pair in pairs), 96)
    torch.testing.assert_close(c, a.float() @ b.float().T, rtol=1e-3, atol=1e-2)
    assert forms(machines[0]) == {"load", "store"}
