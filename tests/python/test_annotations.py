"""The annotation of a parameter decides its type, in all modes and in both keys of a launch."""

import importlib.util
import sys
import typing

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import numpy as np
import pytest
import torch
from blockscope.runtime import launcher
from blockscope.runtime.jit import MockTensor

MODES = pytest.mark.parametrize("step", [False, True], ids=["whole", "step"])
HEAD = (
    "import typing\nimport blockscope as triton\nimport blockscope.language as tl\n"
    "import numpy as np\n"
)
KERNEL = """
@triton.jit
def kernel(o, x: {annotation}, BLOCK: {constexpr} = 4):
    tl.static_assert(isinstance(BLOCK, tl.constexpr) or isinstance(BLOCK, int))
    wide = (tl.program_id(0) + 3) * x
    tl.store(o + tl.arange(0, BLOCK), wide.to(o.dtype.element_ty))
    tl.store(o + 5, x.dtype.primitive_bitwidth)
    tl.store(o + 6, x.dtype.is_floating())
    tl.store(o + 7, x.dtype.is_int_signed())
"""


def module(tmp_path, text):
    path = tmp_path / "annotated.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("annotated", path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def kernel_of(tmp_path, annotation, constexpr="tl.constexpr", future=False):
    head = ("from __future__ import annotations\n" if future else "") + HEAD
    return module(tmp_path, head + KERNEL.format(annotation=annotation, constexpr=constexpr)).kernel


def facts(kernel, value, step=False):
    triton.set_interpret_mode(step)
    try:
        seen = []
        for _ in range(2):  # by Python, then by the launcher
            o = torch.zeros(8, dtype=torch.float64)
            kernel[(1,)](o, value)
            seen.append(o.tolist())
    finally:
        triton.set_interpret_mode(False)
    assert seen[0] == seen[1]
    return seen[0]


def dtype_of(bits, is_floating, is_signed):
    return [bits, is_floating, is_signed]


@MODES
@pytest.mark.parametrize("future", [False, True], ids=["", "future"])
@pytest.mark.parametrize(
    "annotation, dtype",
    [
        ("tl.int64", dtype_of(64, 0, 1)), ("'i64'", dtype_of(64, 0, 1)),
        ("'int64_t'", dtype_of(64, 0, 1)), ("'tl.int64'", dtype_of(64, 0, 1)),
        ("int", dtype_of(32, 0, 1)), ("'int'", dtype_of(32, 0, 1)),
        ("np.int32", dtype_of(32, 0, 1)), ("'i8'", dtype_of(8, 0, 1)),
        ("'u16'", dtype_of(16, 0, 0)), ("tl.uint8", dtype_of(8, 0, 0)),
        ("bool", dtype_of(1, 0, 0)), ("'i1'", dtype_of(1, 0, 0)), ("tl.int1", dtype_of(1, 0, 0)),
        ("float", dtype_of(32, 1, 0)), ("'float'", dtype_of(32, 1, 0)),
        ("'half'", dtype_of(16, 1, 0)), ("'bf16'", dtype_of(16, 1, 0)),
        ("'double'", dtype_of(64, 1, 0)), ("tl.float64", dtype_of(64, 1, 0)),
        ("'Number'", dtype_of(32, 0, 1)), ("'triton.language.int64'", dtype_of(32, 0, 1)),
    ],
)  # fmt: skip
def test_names(tmp_path, annotation, dtype, future, step):
    if future and annotation == "np.int32":
        dtype = dtype_of(32, 0, 1)  # no name that is known
    kernel = kernel_of(tmp_path, annotation, future=future)
    result = facts(kernel, True if dtype[0] == 1 else 3, step)
    # Inside quotes a string of a string stays one: "'i64'" of a future import names no type.
    if future and annotation.startswith("'"):
        dtype = dtype_of(32, 0, 1) if dtype[0] != 1 else dtype_of(1, 0, 0)
    assert result[5:] == dtype


@MODES
@pytest.mark.parametrize("future", [False, True], ids=["", "future"])
def test_the_width_of_arithmetic(tmp_path, step, future):
    """3 * 2**30 needs the 64 bits that the annotation gives."""
    kernel = kernel_of(tmp_path, "tl.int64", future=future)
    assert facts(kernel, 2**30, step)[0] == 3 * 2**30


@MODES
@pytest.mark.parametrize("annotation", ["tl.int64", "'i64'", "int", "float", "'fp64'", "'u8'"])
def test_a_one_is_not_compiled_in(tmp_path, annotation, step):
    kernel = kernel_of(tmp_path, annotation)
    assert kernel._launcher.key((torch.zeros(8), 1), {})[1][1:] != []
    for value in (1, 2):
        assert facts(kernel, value, step)[0] == 3 * value


@MODES
@pytest.mark.parametrize("text", ["'constexpr'", "'tl.constexpr'", "triton.language.constexpr"])
@pytest.mark.parametrize("future", [False, True], ids=["", "future"])
def test_constexpr_in_any_spelling(tmp_path, text, step, future):
    assert facts(kernel_of(tmp_path, "int", text, future), 3, step)[:5] == [9, 9, 9, 9, 0]


@pytest.mark.parametrize(
    "annotation, value, word",
    [
        ("'i64'", 2**40, 2**40),
        ("int", 2**20, 2**20),
        ("'u16'", 16, 16),
        ("float", 3, int(np.float32(3).view(np.uint32))),
        ("'fp64'", 3, int(np.float64(3).view(np.uint64))),
    ],
)
def test_the_key_of_the_launcher(tmp_path, annotation, value, word):
    launcher.register_torch()
    o = torch.zeros(8)
    key = kernel_of(tmp_path, annotation)._launcher.key
    assert key((o, value), {})[1][1] == word
    assert key((o, o), {}) is None, "Python words the error"
    key = kernel_of(tmp_path, "'*fp32'")._launcher.key
    assert key((o, value), {}) is None
    assert key((o, o), {})[1] == [o.data_ptr(), o.data_ptr()]


@pytest.mark.parametrize(
    "annotation, value, declared",
    [("'i64'", 3, ".u64"), ("'u16'", 3, ".u16"), ("float", 3, ".f32"), ("'fp64'", 1, ".f64")],
)
def test_ptx(tmp_path, annotation, value, declared, monkeypatch):
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    kernel = kernel_of(tmp_path, annotation)
    ptx = kernel.warmup(MockTensor(tl.float64), value, grid=(1,), arch="sm_90a").asm["ptx"]
    entry = ptx[ptx.index(".entry") : ptx.index("{", ptx.index(".entry"))]
    assert f".param {declared} kernel_param_1" in entry


@pytest.mark.skipif(not gpu_rows.has_tools(), reason="ptxas is not installed (nvidia-cuda-nvcc)")
@pytest.mark.parametrize("arch", ["sm_90a"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_numbers_of_two_bytes_in_ptx(tmp_path, dtype, arch, kernels):
    o = torch.zeros(8)
    kernel_of(tmp_path, f"tl.{dtype}".replace("torch.", ""))[(1,)](o, 0.1)
    assert abs(o[0] / 3 - torch.tensor(0.1, dtype=dtype)) < 1e-4
    assert len(kernels) == 1


@MODES
def test_a_pointer_of_another_element(tmp_path, step):
    text = """
@triton.jit
def kernel(o, x: "*i32", y: tl.pointer_type(tl.int32)):
    tl.store(o, tl.load(x) + tl.load(y))
"""
    kernel = module(tmp_path, HEAD + text).kernel
    triton.set_interpret_mode(step)
    try:
        for _ in range(2):
            o, x = torch.zeros(2, dtype=torch.int64), torch.ones(1)
            kernel[(1,)](o, x, x)
            assert o[0] == 2 * int(np.float32(1).view(np.int32))
        with pytest.raises(TypeError, match=r"'x' is the number 3; expected a tensor.*'\*i32'"):
            kernel[(1,)](o, 3, x)
    finally:
        triton.set_interpret_mode(False)


@MODES
def test_a_tensor_for_a_number(tmp_path, step):
    with pytest.raises(TypeError, match="'x' is a float32 tensor; expected a number.*'i32'"):
        facts(kernel_of(tmp_path, "int"), torch.zeros(4), step)


@MODES
def test_a_float_for_an_integer(tmp_path, step):
    with pytest.raises(TypeError, match="argument 'x'"):
        facts(kernel_of(tmp_path, "'i64'"), 2.5, step)


@MODES
def test_none_stays_none(tmp_path, step):
    text = """
@triton.jit
def kernel(o, x: "i32" = None, p: "*fp32" = None):
    tl.store(o, 1.0 if x is None and p is None else 2.0)
"""
    kernel = module(tmp_path, HEAD + text).kernel
    triton.set_interpret_mode(step)
    try:
        o = torch.zeros(1)
        kernel[(1,)](o)
    finally:
        triton.set_interpret_mode(False)
    assert o.item() == 1


def test_what_parameters_say_of_themselves():
    def kernel(a, b, c, d, e, f):
        pass

    kernel.__annotations__ = {
        "a": "const float*",
        "b": tl.const,
        "c": typing.Optional[int],  # noqa: UP045
        "d": "double",
        "f": typing.Optional[tl.constexpr],  # noqa: UP045
    }
    kernel = triton.jit(kernel)
    assert [p.annotation for p in kernel.params[:5]] == [
        "*kfp32",
        "const",
        str(typing.Optional[int]),  # noqa: UP045
        "fp64",
        "",
    ]
    assert [p.annotation_type for p in kernel.params] == ["*kfp32", "", "", "fp64", "", ""]
    assert [p.is_const for p in kernel.params] == [True, True, False, False, False, False]
    assert kernel.constexprs == [5]


@MODES
def test_a_name_that_python_could_not_look_up_counts_by_its_text(tmp_path, step):
    """What Python 3.14 leaves of one."""
    kernel = kernel_of(tmp_path, "typing.ForwardRef('tl.int64')", "typing.ForwardRef('constexpr')")
    assert facts(kernel, 7, step)[5:] == dtype_of(64, 0, 1)


@pytest.mark.skipif(sys.version_info < (3, 14), reason="Python 3.14 makes annotations late")
@MODES
def test_annotations_may_name_what_is_not_there(tmp_path, step):
    kernel = kernel_of(tmp_path, "Missing")
    assert facts(kernel, 7, step)[5:] == dtype_of(32, 0, 1)
    text = HEAD + "@triton.aggregate\nclass Pair:\n    a: tl.tensor\n    b: Missing\n"
    pair = module(tmp_path, text).Pair
    assert list(pair._field_types) == ["a", "b"]
