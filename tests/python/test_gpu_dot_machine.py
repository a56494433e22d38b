"""A part of tests/gpu/test_dot.py without a GPU: the PTX of its launches, run by
ptx_matrix_machine.py, which knows tensor cores and asynchronous copies.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import gpu_rows
import machine_backend
import ptx_matrix_machine
import pytest
from machine_backend import MachineBackend, storage_of

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
import test_dot as dots  # noqa: E402
import test_dot_sums as dot_sums  # noqa: E402
import test_loops as loops  # noqa: E402

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)
ARCHS = ["sm_80", "sm_90a"]
BOTH_ARCHS = pytest.mark.parametrize("arch", ARCHS)
HALF, FP8, FP32 = torch.float16, torch.float8_e4m3fn, torch.float32


def machines_for(
    arch: str, monkeypatch: pytest.MonkeyPatch, is_crowded: bool = False
) -> list[ptx_matrix_machine.Machine]:
    """Launches on CPU tensors go to the machine; all machines that ran, in order."""
    torch.manual_seed(7)
    made: list[ptx_matrix_machine.Machine] = []

    def run(kernel: Any, grid: Any, values: list[Any]) -> None:
        kernel = gpu_rows.as_launched(kernel, values)
        assert is_crowded or kernel.warnings == []
        machine = ptx_matrix_machine.Machine(kernel.asm["ptx"], kernel.metadata.num_warps)
        machine.run(grid, [storage_of(value) for value in values], kernel.metadata.shared)
        made.append(machine)

    machine_backend.use(monkeypatch, MachineBackend(arch, run, is_crowded))
    return made


@pytest.fixture
def machines(arch: str, monkeypatch: pytest.MonkeyPatch) -> list[ptx_matrix_machine.Machine]:
    return machines_for(arch, monkeypatch)


def used(machines: list[ptx_matrix_machine.Machine], opcode: str) -> bool:
    return any(i.parts[0] == opcode for machine in machines for i in machine.code)


@pytest.mark.parametrize("arch", ["sm_90a"])
def test_only_what_threads_store_for_wgmma_is_fenced(
    arch: str, machines: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cp.async copies is there when it has been waited for."""
    a, b = dots.rand((64, 128), HALF, "cpu"), dots.rand((128, 64), HALF, "cpu")
    dots.run_matmul(a, b, (64, 64, 32), 6e-6, 4, 3)
    assert used(machines, "wgmma") and used(machines, "cp")
    assert not any(i.parts[0] == "fence" and i.has("proxy") for i in machines[0].code)
    a, b = a[:, :32].contiguous(), b[:32].contiguous()
    dots.run_dot(a, b, FP32, 6e-6)
    read = ptx_matrix_machine.Machine._read

    def without_fence(self: Any, ptx: str) -> None:
        assert "fence.proxy.async" in ptx
        read(self, ptx.replace("fence.proxy.async", "// fence.proxy.async"))

    monkeypatch.setattr(ptx_matrix_machine.Machine, "_read", without_fence)
    with pytest.raises(ptx_matrix_machine.PtxError, match="wgmma reads what was written before"):
        dots.run_dot(a, b, FP32, 6e-6)


@BOTH_ARCHS
@pytest.mark.parametrize("shape", [(64, 64, 32), (128, 64, 64), (16, 16, 16), (64, 16, 16)])
@pytest.mark.parametrize("dtype", [HALF, FP8, torch.int8, FP32])
def test_one_dot(dtype: Any, shape: tuple[int, ...], arch: str, machines: Any) -> None:
    m, n, k = shape
    b = dots.rand((n, k), dtype, "cpu").T
    out = torch.int32 if dtype == torch.int8 else FP32
    tolerance = {torch.int8: 0, FP32: 2e-3}.get(dtype, 6e-6)
    dots.run_dot(dots.rand((m, k), dtype, "cpu"), b, out, tolerance, "tf32")
    assert used(machines, "wgmma") == (arch == "sm_90a" and m >= 64 and k * dtype.itemsize >= 32)
    assert used(machines, "mma") or used(machines, "wgmma")


@pytest.mark.parametrize("arch", ["sm_89", "sm_90a"])
@pytest.mark.parametrize(
    ("types", "k", "precision"),
    [
        ((FP8, FP8), 16, "ieee"),
        ((FP8, torch.float8_e5m2), 16, "ieee"),
        ((torch.uint8, torch.uint8), 16, "ieee"),
        ((HALF, HALF), 8, "ieee"),
        ((FP32, FP32), 4, "tf32"),
        ((FP32, FP32), 8, "bf16x6"),
    ],
)
@pytest.mark.parametrize("size", [8, 64])
def test_half_an_instruction(
    size: int, types: Any, k: int, precision: str, arch: str, machines: Any
) -> None:
    a, b = dots.rand((size, k), types[0], "cpu"), dots.rand((k, size), types[1], "cpu")
    out = torch.int32 if types[0] == torch.uint8 else FP32
    tolerance = {torch.int32: 0, FP32: 2e-3 if precision == "tf32" else 6e-6}[out]
    dots.run_dot(a, b, out, tolerance, precision, warps=4 if size == 64 else 1)
    assert used(machines, "mma")


@BOTH_ARCHS
@pytest.mark.parametrize("dtype", [FP8, torch.bfloat16])
def test_half_an_instruction_in_a_loop(dtype: Any, arch: str, machines: Any) -> None:
    depth = 16 // dtype.itemsize
    a, b = dots.rand((64, 5 * depth), dtype, "cpu"), dots.rand((5 * depth, 64), dtype, "cpu")
    dots.run_matmul(a, b, (64, 64, depth), 6e-6, 4, 3)
    assert used(machines, "mma")


@BOTH_ARCHS
@pytest.mark.parametrize(("dtype", "depth"), [(HALF, 64), (FP8, 128)])
def test_sums_of_all_registers(dtype: Any, depth: int, arch: str, machines: Any) -> None:
    """256 sums of a thread, in groups: the second one loads the operand that both have again."""
    a, b = dots.rand((128, depth), dtype, "cpu"), dots.rand((128, depth), dtype, "cpu").T
    dots.run_matmul(a, b, (128, 128, depth), 6e-6, 2, 2)
    code = [i.parts for i in machines[0].code if i.parts[0] in ("mma", "ldmatrix", "bar")]
    last = len(code) - 1 - [parts[0] for parts in reversed(code)].index("mma")
    assert ["bar", "warp"] in [list(parts[:2]) for parts in code[:last]]
    once = 3 * 128 * depth * dtype.itemsize // 1024  # half of A, and B, by 512 bytes
    assert sum(parts[0] == "ldmatrix" for parts in code) > once


@BOTH_ARCHS
@pytest.mark.parametrize("size", [16, 64])
@pytest.mark.parametrize("k", [0, 64, 192])
def test_sums_in_fp16(k: int, size: int, arch: str, machines: Any) -> None:
    dot_sums.run_half_sums(size, k, HALF, "cpu")
    assert used(machines, "wgmma" if size == 64 and arch == "sm_90a" else "mma")


@pytest.mark.parametrize("arch", ["sm_90a"])
@pytest.mark.parametrize("limit", [None, 32])
@pytest.mark.parametrize("made", [False, True])
@pytest.mark.parametrize("k", [0, 64, 192])
@pytest.mark.parametrize(("shape", "warps"), [((128, 128), 4), ((64, 256), 4), ((128, 256), 8)])
def test_sums_of_fp8_in_parts(
    shape: Any, warps: int, k: int, made: bool, limit: int | None, arch: str, machines: Any
) -> None:
    """Beside 128 sums of a thread, 32 products at a time: 64 columns."""
    dot_sums.run_sums_of_fp8(shape, k, 64, made, limit, "cpu", warps, 6e-6)
    dots_by_wgmma = [i for i in machines[0].code if "mma_async" in i.parts]
    assert dots_by_wgmma and all("m64n64k32" in i.parts for i in dots_by_wgmma)


@pytest.mark.parametrize("arch", ["sm_90a"])
@pytest.mark.parametrize("limit", [None, 0, 32, 48, 64, 128])
def test_limit_of_imprecise_sums(limit: int | None, arch: str, machines: Any) -> None:
    assert dots.run_limited(limit, 3, "cpu") < 1e-6
    waits = [i for i in machines[0].code if i.parts[0] == "wgmma" and "wait_group" in i.parts]
    runs = 0 if limit is None else 2 * 128 // max(32, limit // 32 * 32)  # of two tiles
    assert len(waits) == 3 + runs


def rounds_and_copies(machine: Any) -> tuple[int, bool]:
    copies = [i for i in machine.code if i.parts[0] == "cp"]
    return len([i for i in copies if "commit_group" in i.parts]), bool(copies)


@BOTH_ARCHS
@pytest.mark.parametrize("kernel_stages", [1, 3])
@pytest.mark.parametrize("stages", [None, 0, 1, 2, 4])
def test_stages_of_a_loop(stages: int | None, kernel_stages: int, arch: str, machines: Any) -> None:
    loops.test_stages_of_a_loop(stages, kernel_stages, "cpu")
    effective = kernel_stages if stages is None else max(1, stages)
    if effective == 4 and arch == "sm_80":  # three buffers: a third more CTAs have room
        effective = 3
    # One round of copies for each stage but the last, and one in the loop; with one stage, one for
    # each operand there.
    assert rounds_and_copies(machines[0]) == (effective if effective > 1 else 2, True)


@BOTH_ARCHS
@pytest.mark.parametrize("rows", [0, 2, 7])
@pytest.mark.parametrize("other", [0.0, float("-inf")])
@pytest.mark.parametrize("stages", [1, 2, 5])
def test_loads_without_products(
    stages: int, other: float, rows: int, arch: str, machines: Any
) -> None:
    loops.test_loads_without_products(rows, other, stages, "cpu")
    assert rounds_and_copies(machines[0]) == ((stages, True) if stages > 1 else (0, False))


@BOTH_ARCHS
@pytest.mark.parametrize("unroll", [1, 2, 3])
@pytest.mark.parametrize("stages", [1, 3])
def test_unrolled(
    stages: int, unroll: int, arch: str, machines: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    loops.test_unrolled(unroll, stages, "cpu")
    assert capfd.readouterr().err == ""  # LLVM says nothing where it cannot


@BOTH_ARCHS
@pytest.mark.parametrize("wait", [False, True])
@pytest.mark.parametrize("bounds", [(0, 0, 1), (3, 0, 1), (2, 3, 1), (1, 9, 1), (0, 13, 3)])
def test_unrolled_loops_of_any_count(
    bounds: tuple[int, int, int], wait: bool, arch: str, machines: Any
) -> None:
    loops.test_unrolled_loops_of_any_count(bounds, wait, "cpu")


@BOTH_ARCHS
def test_product_in_an_if(arch: str, machines: Any) -> None:
    loops.test_product_in_an_if("cpu")


@BOTH_ARCHS
@pytest.mark.parametrize("k", [0, 96])
def test_what_is_made_of_sums_leaves_an_if(k: int, arch: str, machines: Any) -> None:
    loops.test_what_is_made_of_sums_leaves_an_if(k, "cpu")


@BOTH_ARCHS
@pytest.mark.parametrize("heads", [2, 8])
def test_sums_in_another_shape(heads: int, arch: str, machines: Any) -> None:
    """The products are added where the sums are, though these have a dimension more."""
    loops.test_sums_in_another_shape(heads, "cpu")
    sums = [i for i in machines[0].code if i.parts[0] in ("add", "fma") and "f32" in i.parts]
    assert not sums


@BOTH_ARCHS
@pytest.mark.parametrize("v", [1, 2, 4])
def test_gathered_rows_beside_each_other(v: int, arch: str, machines: Any) -> None:
    """The dot reads what copies have brought, though its shape is another one."""
    loops.test_gathered_rows_beside_each_other(v, "cpu")
    (machine,) = machines
    products = [at for at, i in enumerate(machine.code) if i.parts[0] in ("wgmma", "mma")]
    before = machine.code[: products[-1]]
    assert any(i.parts[0] == "cp" for i in before)
    assert not any({"st", "shared"} <= set(i.parts) or "stmatrix" in i.parts for i in before)


@BOTH_ARCHS
@pytest.mark.parametrize("one_tensor", [True, False])
def test_stores_before_later_loads(one_tensor: bool, arch: str, machines: Any) -> None:
    loops.test_stores_before_later_loads(one_tensor, 3, "cpu")
    assert rounds_and_copies(machines[0]) == ((0, False) if one_tensor else (3, True))


@BOTH_ARCHS
def test_the_inner_loop_of_a_persistent_kernel(arch: str, machines: Any) -> None:
    """Only the outer loop stores. Copies begin before it, in the inner one, and behind that."""
    m, n, k = 128, 64, 96
    a, b = dots.rand((m, k), HALF, "cpu"), dots.rand((k, n), HALF, "cpu")
    c = torch.full((m, n), 77, dtype=HALF)
    dots.persistent_kernel[(1,)](a, b, c, m, n, k, 64, 32, 32, num_stages=3)
    dots.check(c, a.double() @ b.double(), 1e-3)
    assert rounds_and_copies(machines[0]) == (2 + 1 + 2, True)


@pytest.mark.parametrize("arch", ["sm_80"])
def test_hints_without_effect(arch: str, machines: Any) -> None:
    loops.test_hints_without_effect("cpu")


@BOTH_ARCHS
@pytest.mark.parametrize("trans", [(False, False), (True, True)])
@pytest.mark.parametrize("lies", [(False, True), (True, False)])
@pytest.mark.parametrize("dtype", [HALF, FP8, FP32])
def test_orders(dtype: Any, lies: Any, trans: Any, arch: str, machines: Any) -> None:
    a, b = dots.rand((128, 64), dtype, "cpu"), dots.rand((64, 32), dtype, "cpu")
    a = a.T.contiguous().T if lies[0] else a
    b = b.T.contiguous().T if lies[1] else b
    tolerance = 2e-3 if dtype == FP32 else 6e-6
    dots.run_dot(a, b, FP32, tolerance, "tf32", 8, trans)


@BOTH_ARCHS
@pytest.mark.parametrize("precision", ["ieee", "tf32x3", "bf16x6"])
def test_fp32(precision: str, arch: str, machines: Any) -> None:
    a, b = dots.rand((64, 32), FP32, "cpu"), dots.rand((32, 64), FP32, "cpu")
    dots.run_dot(a, b, FP32, 4e-6, precision)
    by_wgmma = precision == "tf32x3" and arch == "sm_90a"
    assert used(machines, "mma") == (precision != "ieee" and not by_wgmma)
    assert used(machines, "wgmma") == by_wgmma


@BOTH_ARCHS
@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize(
    "shape", [(16, 16, 16), (32, 32, 32), (64, 64, 8), (128, 32, 16), (8, 8, 4), (2, 4, 2)]
)
def test_multiplied_by_threads(
    shape: tuple[int, ...], warps: int, arch: str, machines: Any
) -> None:
    m, n, k = shape
    a, b = dots.rand((m, k), FP32, "cpu"), dots.rand((k, n), FP32, "cpu").T.contiguous().T
    dots.run_dot(a, b, FP32, 4e-6, "ieee", warps)
    assert not used(machines, "mma") and not used(machines, "wgmma")


@BOTH_ARCHS
@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize("k", [0, 32, 64, 224])
def test_scales_of_groups(k: int, stages: int, arch: str, machines: Any) -> None:
    """Scales are loaded an iteration before they are used."""
    dots.run_scaled(96, 80, k, 64, stages, "cpu")


@BOTH_ARCHS
@pytest.mark.parametrize("depth", [16, 80, 81])
def test_bytes_with_a_zero_of_floats(depth: int, arch: str, machines: Any) -> None:
    """`other=0.0` is the zero of integers, too, and does not keep a loop from loading early."""
    a, b = dots.rand((40, depth), torch.int8, "cpu"), dots.rand((32, depth), torch.int8, "cpu").T
    dots.run_integers(a, b, (32, 32, 32), 3)
    assert used(machines, "cp") == (depth % 16 == 0)


@pytest.mark.parametrize("arch", ["sm_90a"])
@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize("along_k", [False, True])
def test_fp32_in_three_dots(along_k: bool, stages: int, arch: str, machines: Any) -> None:
    a, b = dots.rand((100, 72), FP32, "cpu"), dots.rand((72, 64), FP32, "cpu")
    b = b.T.contiguous().T if along_k else b
    dots.run_matmul(a, b, (64, 64, 32), 4e-6, 4, stages, "tf32x3")
    assert used(machines, "wgmma") and not used(machines, "mma")


@BOTH_ARCHS
@pytest.mark.parametrize("stages", [1, 2, 4])
@pytest.mark.parametrize("lies", [(False, False), (True, True)])
def test_loop(lies: Any, stages: int, arch: str, machines: Any) -> None:
    a, b = dots.rand((128, 160), HALF, "cpu"), dots.rand((160, 128), HALF, "cpu")
    a = a.T.contiguous().T if lies[0] else a
    b = b.T.contiguous().T if lies[1] else b
    dots.run_matmul(a, b, (128, 128, 32), 6e-6, 8, stages)
    assert used(machines, "cp") or stages == 1


@BOTH_ARCHS
@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize("sizes", [(65, 33, 17), (72, 64, 72)])
def test_masks(sizes: Any, stages: int, arch: str, machines: Any) -> None:
    m, n, k = sizes
    a, b = dots.rand((m, k), HALF, "cpu"), dots.rand((k, n), HALF, "cpu")
    dots.run_matmul(a, b, (64, 64, 32), 6e-6, 4, stages)


@BOTH_ARCHS
def test_masks_of_fp8_are_loaded_early(arch: str, machines: Any) -> None:
    a, b = dots.rand((72, 144), FP8, "cpu"), dots.rand((64, 144), FP8, "cpu").T
    dots.run_matmul(a, b, (64, 64, 64), 2e-3, 4, 3)
    assert used(machines, "cp")


@BOTH_ARCHS
@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("iterations", [0, 1, 4])
def test_dots_in_sequence(iterations: int, stages: int, arch: str, machines: Any) -> None:
    dots.test_dots_in_sequence(iterations, 64, 4, stages, "cpu")
    # The second dot of an iteration runs at the same time as the first one of the next.
    overlaps = any("wait_group" in i.parts and i.operands == ["1"] for i in machines[0].code
                   if i.parts[0] == "wgmma")  # fmt: skip
    assert overlaps == (arch == "sm_90a" and stages > 1)


@BOTH_ARCHS
@pytest.mark.parametrize("is_bare", [False, True])
@pytest.mark.parametrize("along_k", [False, True])
@pytest.mark.parametrize(
    ("precision", "size", "warps", "stages"),
    [("tf32", 16, 1, 1), ("tf32", 32, 4, 3), ("tf32", 64, 4, 1), ("tf32", 64, 4, 3),
     ("tf32", 64, 8, 3), ("tf32x3", 64, 4, 3)],
)  # fmt: skip
def test_sums_as_operands(
    precision: str, size: int, warps: int, stages: int, along_k: bool, is_bare: bool, arch: str,
    machines: Any,
) -> None:  # fmt: skip
    """ptxas would run wgmma one by one whose first operand is in the registers of sums."""
    dots.run_chained(size, 3, along_k, is_bare, precision, warps, stages, "cpu")
    assert used(machines, "wgmma") == (arch == "sm_90a" and size == 64)
    # Both operands take K in the order of an accumulator's columns: nothing goes to other lanes.
    if stages == 3 and size == 64 and warps == 4 and not along_k:
        assert not used(machines, "shfl")


@BOTH_ARCHS
@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize("iterations", [0, 1, 3])
@pytest.mark.parametrize("dtype", [HALF, torch.int8, FP8])
def test_dots_that_are_added(
    dtype: Any, iterations: int, stages: int, arch: str, machines: Any
) -> None:
    dots.run_added(dtype, iterations, 4, stages, 64, "cpu")


@BOTH_ARCHS
@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize("k", [0, 64, 176])
@pytest.mark.parametrize("trans", [False, True])
@pytest.mark.parametrize("lies", [(True, False), (False, True), (False, False)])
@pytest.mark.parametrize("dtype", [torch.int8, FP8, FP32])
def test_operands_that_lie_along_either_dimension(
    dtype: Any, lies: Any, trans: bool, k: int, stages: int, arch: str, machines: Any
) -> None:
    """wgmma reads elements of other than 2 bytes along K only: threads move the others there."""
    dots.run_lying(dtype, lies, trans, (48, 64, k), (64, 64, 64), 4, stages, "cpu")
    assert used(machines, "wgmma") == (arch == "sm_90a")


@pytest.mark.parametrize("arch", ["sm_90a"])
@pytest.mark.parametrize("blocks", [(64, 16, 128), (128, 128, 32), (64, 64, 32), (16, 64, 64)])
@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("dtype", [torch.int8, FP8, FP32])
def test_operands_of_other_shapes_that_lie_along_rows(
    dtype: Any, warps: int, blocks: Any, arch: str, machines: Any
) -> None:
    m, n, k = blocks
    dots.run_lying(dtype, (False, False), False, (m, n, 3 * k), blocks, warps, 2, "cpu")


@BOTH_ARCHS
@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize("iterations", [0, 1, 3])
@pytest.mark.parametrize("dtype", [HALF, FP32])
@pytest.mark.parametrize("form", [1, 2])
def test_staged_operands(
    form: int, dtype: Any, iterations: int, stages: int, arch: str, machines: Any
) -> None:
    """The machine finds it where a thread writes what another one may still read."""
    dots.run_staged(form, dtype, iterations, 4, stages, 64, "cpu")


@BOTH_ARCHS
@pytest.mark.parametrize("iterations", [0, 1, 21])
def test_more_stages_than_memory(iterations: int, arch: str, machines: Any) -> None:
    """20 stages are asked for."""
    kernel = loops.run_crowded(iterations, (64, 64, 64), 20, 4, "cpu")
    buffers = {"sm_80": 10, "sm_90a": 14}[arch]
    assert kernel.metadata.shared == buffers * 16384
    why = "shared memory has no place for more, or not beside another CTA"
    assert f"ring: {buffers} buffers ({why})" in kernel.asm["plan"]
    assert rounds_and_copies(machines[0]) == (buffers, True)


@BOTH_ARCHS
@pytest.mark.parametrize("iterations", [0, 1, 3, 6])
def test_a_buffer_less_for_another_cta(iterations: int, arch: str, machines: Any) -> None:
    """Of 164 KiB three buffers of 32 KiB leave no place for a second CTA, two do. Of 228 KiB there
    is place for two CTAs in any case."""
    kernel = loops.run_crowded(iterations, (64, 64, 128), 3, 4, "cpu")
    buffers = {"sm_80": 2, "sm_90a": 3}[arch]
    assert kernel.metadata.shared == buffers * 32768
    assert f"ring: {buffers} buffers" in kernel.asm["plan"]
    assert rounds_and_copies(machines[0]) == (buffers, True)


@pytest.mark.parametrize("arch", ["sm_90a"])
@pytest.mark.parametrize(("sizes", "k"), [((64, 64), 192), ((60, 52), 132)])
def test_a_buffer_less_for_a_third_cta(
    sizes: tuple[int, int], k: int, arch: str, machines: Any
) -> None:
    """Products by threads whose registers leave room for it, too: two buffers of 32 KiB, not
    three. With masks they do not."""
    a, b = torch.randn(sizes[0], k), torch.randn(k, sizes[1])
    kernel = dots.run_matmul(a, b, (64, 64, 64), 4e-6, 4, 3, "ieee")
    buffers = 2 if k % 64 == 0 else 3
    assert f"ring: {buffers} buffers" in kernel.asm["plan"]
    assert kernel.metadata.shared == buffers * 32768


@pytest.mark.parametrize("rounds", [0, 2, 3])
def test_two_buffers_of_pieces_for_another_cta(
    rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ring of 72 KiB leaves a second CTA with two buffers of 16 KiB beside it, not with four,
    although the sums alone take all registers."""
    machines_for("sm_90a", monkeypatch, is_crowded=True)
    kernel = loops.run_sums_of_pieces(rounds, "cpu")
    assert 104 * 1024 <= kernel.metadata.shared <= 113 * 1024


@pytest.mark.parametrize("arch", ["sm_90a"])
@pytest.mark.parametrize("iterations", [0, 1, 3])
def test_no_memory_for_two_buffers(iterations: int, arch: str, machines: Any) -> None:
    kernel = loops.run_crowded(iterations, (128, 256, 256), 3, 8, "cpu")
    assert kernel.metadata.shared == 196608
    assert rounds_and_copies(machines[0]) == (2, True)  # in their iteration: they have room once


@BOTH_ARCHS
@pytest.mark.parametrize("stages", [1, 3])
def test_infinity_in_the_second_dot(stages: int, arch: str, machines: Any) -> None:
    dots.test_infinity_in_the_second_dot(stages, "cpu")


@BOTH_ARCHS
@pytest.mark.parametrize("stages", [1, 3])
def test_computed_operand(stages: int, arch: str, machines: Any) -> None:
    dots.test_computed_operand(64, 4, stages, "cpu")


@BOTH_ARCHS
@pytest.mark.parametrize(
    ("dtypes", "precision", "multiplied"),
    [
        ((HALF, HALF), "tf32", "f16"),
        ((torch.bfloat16, torch.bfloat16), "tf32x3", "bf16"),
        ((torch.bfloat16, torch.bfloat16), "bf16x3", "bf16"),
        ((FP8, HALF), "tf32", "f16"),
        ((HALF, torch.bfloat16), "tf32", "tf32"),
        ((HALF, HALF), "ieee", None),
    ],
)
def test_operands_cast_to_fp32(
    dtypes: Any, precision: str, multiplied: str | None, arch: str, machines: Any
) -> None:
    dots.run_cast(dtypes, precision, 64, "cpu")
    names = [i.parts for i in machines[-1].code if i.parts[0] in ("mma", "wgmma")]
    types = {part for parts in names for part in parts if part in ("f16", "bf16", "tf32")}
    assert types == ({multiplied} if multiplied else set())


@BOTH_ARCHS
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_other_from_a_dot(stages: int, arch: str, machines: Any) -> None:
    dots.run_other(stages, "cpu")


@pytest.mark.parametrize("arch", ["sm_90a"])
def test_a_missing_wait_is_found(arch: str, monkeypatch: Any, machines: Any) -> None:
    read = ptx_matrix_machine.Machine._read
    pattern = "cp.async.wait_group 1;"
    monkeypatch.setattr(
        ptx_matrix_machine.Machine, "_read", lambda self, ptx: read(self, ptx.replace(pattern, ""))
    )
    a, b = dots.rand((64, 128), HALF, "cpu"), dots.rand((128, 64), HALF, "cpu")
    with pytest.raises(ptx_matrix_machine.PtxError, match="nobody has written"):
        dots.run_matmul(a, b, (64, 64, 32), 6e-6, 4, 3)


@pytest.mark.parametrize(("rows", "columns", "warps"), dot_sums.WIDE[:2])
@pytest.mark.parametrize(("k", "made"), [(0, False), (32, True), (96, False), (96, True)])
def test_sums_of_more_registers_than_a_thread_has(
    k: int, made: bool, rows: int, columns: int, warps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tiles of columns follow each other, each complete before the next one begins."""
    machines = machines_for("sm_90a", monkeypatch, is_crowded=True)
    dot_sums.run_wide_sums(rows, columns, k, made, warps, "cpu")
    order = [i.parts[1] for i in machines[0].code if i.parts[0] == "wgmma"]
    one_by_one = ["commit_group", "wait_group", "fence", "mma_async"]
    assert any(order[i : i + 4] == one_by_one for i in range(len(order)))
