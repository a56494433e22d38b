"""tests/gpu/test_descriptors.py in both CPU modes and, as PTX, without a GPU; what descriptors
refuse, in Triton's words."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import blockscope
import blockscope.language as tl
import gpu_rows
import machine_backend
import numpy as np
import ptx_matrix_machine
import pytest
from blockscope.language.core import builtin
from blockscope.tools.tensor_descriptor import TensorDescriptor
from machine_backend import MachineBackend, storage_of

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
import test_descriptors as descriptors  # noqa: E402


def run_on_machine(kernel: Any, grid: Any, values: list[Any]) -> None:
    kernel = gpu_rows.as_launched(kernel, values)
    machine = ptx_matrix_machine.machine_for(kernel)
    machine.run(grid, [storage_of(value) for value in values], kernel.metadata.shared)


@pytest.fixture(params=["whole", "step", "sm_80", "sm_90a"])
def where(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    if request.param.startswith("sm"):
        if not gpu_rows.has_tools():
            pytest.skip("ptxas and libdevice are not installed (nvidia-cuda-nvcc)")
        machine_backend.use(monkeypatch, MachineBackend(request.param, run_on_machine))
    blockscope.set_interpret_mode(request.param == "step")
    yield request.param
    blockscope.set_interpret_mode(False)


@pytest.mark.usefixtures("where")
class TestEverywhere:
    @pytest.mark.parametrize("rank", [1, 2, 3, 4, 5])
    def test_ranks(self, rank: int) -> None:
        shape, block = (1, 2, 3, 5, 16)[-rank:], (2, 2, 4, 8, 16)[-rank:]
        descriptors.run_copy(shape, block, torch.float32, "cpu")

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
    def test_padding(self, dtype: Any) -> None:
        descriptors.run_copy((3, 16), (8, 16), dtype, "cpu", "nan")

    @pytest.mark.parametrize("index", [torch.int16, torch.int32, torch.int64])
    @pytest.mark.parametrize("column", [0, 3, 40])
    def test_gather(self, column: int, index: Any) -> None:
        descriptors.run_gather((40, 64), (32, 32), column, torch.float16, "cpu", index)

    def test_gather_pads(self) -> None:
        shape, block = (40, 64), (8, 16)
        descriptors.run_gather(shape, block, 56, torch.float32, "cpu", padding="nan")

    @pytest.mark.parametrize("dtype", [torch.int8, torch.float32])
    @pytest.mark.parametrize("column", [0, 40])
    def test_scatter(self, column: int, dtype: Any) -> None:
        descriptors.run_scatter((40, 64), (32, 32), column, dtype, "cpu")

    @pytest.mark.parametrize(("kind", "dtype"), descriptors.REDUCED)
    def test_reductions(self, kind: str, dtype: Any) -> None:
        descriptors.run_reduce(kind, dtype, "cpu")

    def test_carried_through_loops(self) -> None:
        descriptors.run_carried("cpu")

    def test_rounding(self) -> None:
        descriptors.run_rounding("cpu")


@blockscope.jit
def dot_kernel(rounded, x, out, dotted, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    one = tl.where(tl.arange(0, N)[:, None] == tl.arange(0, N)[None, :], 1.0, 0.0)
    tl.store(out + at, rounded.load([0, 0]))
    tl.store(dotted + at, tl.dot(tl.load(x + at), one, input_precision="tf32"))


def test_rounding_is_that_of_dots() -> None:
    x = torch.randn(64, 64)
    out, dotted = torch.empty_like(x), torch.empty_like(x)
    rounded = TensorDescriptor.from_tensor(x, [64, 64], round_f32_to_tf32=True)
    dot_kernel[(1,)](rounded, x, out, dotted, 64)
    assert torch.equal(out, dotted) and not torch.equal(out, x)


def test_only_float32_rounds() -> None:
    with pytest.raises(ValueError, match="only supported for float32 tensors"):
        x = torch.zeros(32, 32, dtype=torch.float16)
        TensorDescriptor.from_tensor(x, [32, 32], round_f32_to_tf32=True)


@blockscope.jit
def chosen_kernel(first, second, out, flag):
    if flag > 0:
        source = first
    else:
        source = second
    tl.store(out + tl.arange(0, 16), source.load([0]))


def test_branches_agree_about_constants() -> None:
    """What a descriptor has beside its tensors cannot differ at run time."""
    x, out = torch.zeros(16), torch.zeros(16)
    first = TensorDescriptor.from_tensor(x, [16])
    chosen_kernel[(1,)](first, TensorDescriptor.from_tensor(x + 1, [16]), out, 0)
    assert (out == 1).all()
    for second in (
        TensorDescriptor.from_tensor(x, [16], padding="nan"),
        TensorDescriptor.from_tensor(x, [16], round_f32_to_tf32=True),
    ):
        with pytest.raises(blockscope.CompilationError, match="Mismatched type for source"):
            chosen_kernel[(1,)](first, second, out, 0)


def describe(x: Any, shape: Any = (32, 32), strides: Any = (32, 1), block: Any = (1, 32),
             padding: str = "zero") -> Any:  # fmt: skip
    return tl.make_tensor_descriptor(x, shape, strides, block, padding)


# name, call with a pointer to fp32, text
REFUSED = [
    ("rank", lambda x: describe(x, (1,) * 6, (1,) * 6, (1,) * 6),
     "Expected 1 <= ndim <= 5 but got 6 dimensions"),
    ("strides", lambda x: describe(x, strides=(1,)), "Expected 2 strides but got 1"),
    ("block", lambda x: describe(x, block=(32,)),
     "Expected block_shape to have 2 dimensions but got 1"),
    ("bytes", lambda x: describe(x, block=(4, 2)),
     "must have at least 16 bytes in the last dimension, but got 2 * 4 = 8 bytes"),
    ("last_stride", lambda x: describe(x, strides=(1, 32)),
     "Tensor descriptor last dim must be 1 but got 32"),
    ("padding", lambda x: describe(x, padding="x"),
     "padding_option is 'x', expected 'zero' or 'nan'"),
    ("padding_of_integers",
     lambda x: describe(x.to(tl.pointer_type(tl.int32)), padding="nan"),
     "Padding option `nan` is not supported for integer blocks, found int32"),
    ("offsets", lambda x: describe(x).load([0]),
     "descriptor.load: offsets has 1 entries, expected 2"),
    ("and_of_floats", lambda x: describe(x).atomic_and([0, 0], tl.zeros((1, 32), tl.float32)),
     "descriptor.atomic_and: Unsupported dtype: fp32, expected one of int32, uint32,"),
    ("max_of_floats", lambda x: describe(x).atomic_max([0, 0], tl.zeros((1, 32), tl.float32)),
     "descriptor.atomic_max: Unsupported dtype: fp32"),
    ("value", lambda x: describe(x).atomic_add([0, 0], tl.zeros((2, 32), tl.float32)),
     "descriptor.atomic_add: the value has shape [2, 32], expected the descriptor's block [1, 32]"),
    ("gather_rank", lambda x: describe(x, (32,), (1,), (32,)).gather(tl.arange(0, 8), 0),
     "descriptor.gather: descriptor must be 2D, but got [32]"),
    ("gather_block", lambda x: describe(x, block=(2, 32)).gather(tl.arange(0, 8), 0),
     "descriptor.gather: descriptor block must have 1 row, but got [2, 32]"),
    ("gather_offsets", lambda x: describe(x).gather(tl.arange(0, 8)[None, :], 0),
     "descriptor.gather: x offsets must be 1D, but got [1, 8]"),
    ("gather_float", lambda x: describe(x).gather(tl.zeros((8,), tl.float32), 0),
     "descriptor.gather: x offsets are fp32, expected integers"),
    ("gather_rows", lambda x: describe(x).gather(tl.arange(0, 4), 0),
     "descriptor gather must have at least 8 rows, but got 4"),
    ("gather_columns", lambda x: describe(x, block=(1, 4)).gather(tl.arange(0, 8), 0),
     "descriptor gather of fp32 must have at least 8 columns, but got 4"),
    ("scatter_rows",
     lambda x: describe(x).scatter(tl.zeros((4, 32), tl.float32), tl.arange(0, 4), 0),
     "descriptor scatter must have at least 8 rows, but got 4"),
    ("scatter_value",
     lambda x: describe(x).scatter(tl.zeros((8, 16), tl.float32), tl.arange(0, 8), 0),
     "descriptor.scatter: the value has shape [8, 16], expected [8, 32]"),
]  # fmt: skip


@blockscope.jit
def refused_kernel(x, CALL: tl.constexpr):
    CALL(x)


@pytest.mark.parametrize("stepping", [False, True], ids=["whole", "step"])
@pytest.mark.parametrize(
    ("call", "text"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_refused(call: Any, text: str, stepping: bool) -> None:
    blockscope.set_interpret_mode(stepping)
    try:
        with pytest.raises(Exception) as caught:
            refused_kernel[(1,)](np.zeros(1024, np.float32), CALL=builtin(call))
    finally:
        blockscope.set_interpret_mode(False)
    assert text in str(caught.value)
    if not stepping:
        assert f"{__file__}:" in str(caught.value)
