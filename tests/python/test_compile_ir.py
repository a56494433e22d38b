"""``triton.compile`` of files with IR: our own text compiles and launches, others are named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import numpy as np
import ptx_machine
import pytest
from blockscope.backends.compiler import GPUTarget
from blockscope.errors import NotYetSupported

needs_tools = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)


@triton.jit
def axpy_kernel(x_ptr, y_ptr, n, a, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = tl.load(y_ptr + at, mask=at < n)
    tl.store(y_ptr + at, a * x + y, mask=at < n)


def write(path: Path, arch: str = "cpu") -> Path:
    kernel = axpy_kernel.warmup(
        tl.float32, tl.float32, 100, 2.0, BLOCK=64, grid=(1,), arch=arch, num_warps=1
    )
    path.write_text(kernel.asm["tl"])
    return path


def data(dtype: Any = np.float32) -> tuple[Any, Any]:
    return np.arange(100, dtype=dtype), np.ones(100, dtype)


@pytest.mark.parametrize("arch", ["cpu", pytest.param("sm_90a", marks=needs_tools)])
def test_the_text_of_a_kernel_compiles_and_launches(tmp_path: Path, arch: str) -> None:
    """Also the text that is in a kernel for a GPU, which says what addresses can be divided by."""
    path = write(tmp_path / "axpy.tl", arch)
    kernel = triton.compile(str(path))
    x, y = data()
    kernel[(2,)](x, y, 100, 2.0)
    assert y.tolist() == (2 * x + 1).tolist()
    kernel[(2,)](x[1:], y[1:], 99, 0.5)  # an address that cannot be divided by 16
    assert y.tolist() == [1.0, *(2.5 * x[1:] + 1).tolist()]
    assert kernel.name == "axpy_kernel" and "tl.load" in kernel.asm["tl"]
    again = triton.compile(triton.compiler.IRSource(str(path), None, None))
    again[(2,)](x, y, 1, 1.0)  # a 1 is a number like others


def test_an_edited_text_is_what_runs(tmp_path: Path) -> None:
    path = write(tmp_path / "axpy.tl")
    x, y = data()
    triton.compile(path)[(2,)](x, y, 100, 2.0)
    path.write_text(path.read_text().replace("arith.addf", "arith.subf"))
    triton.compile(path)[(2,)](x, y, 100, 2.0)
    assert y.tolist() == (-1 * np.ones(100)).tolist()


@needs_tools
def test_it_compiles_for_a_gpu(tmp_path: Path) -> None:
    path = write(tmp_path / "axpy.tl")
    kernel = triton.compile(str(path), target=GPUTarget("cuda", 90, 32), options={"num_warps": 1})
    x, y = data()
    ptx_machine.run(kernel, [x, y, np.int32(100), np.float32(2.0)], grid=(2, 1, 1))
    assert y.tolist() == (2 * x + 1).tolist()


def test_checks_and_arguments(tmp_path: Path) -> None:
    kernel = triton.compile(write(tmp_path / "axpy.tl"))
    x, y = data()
    with pytest.raises(triton.SanitizerError, match=r"test_compile_ir\.py:26:"):
        kernel[(2,)](x, y[:50].copy(), 100, 2.0)
    with pytest.raises(TypeError, match="argument 'y_ptr' is a fp64 tensor, .* one of fp32"):
        kernel[(2,)](x, y.astype(np.float64), 100, 2.0)
    with pytest.raises(TypeError, match="argument 'n' is a .* expected a number"):
        kernel[(2,)](x, y, x, 2.0)
    with pytest.raises(TypeError, match="missing a required argument: 'a'"):
        kernel[(2,)](x, y, 100)


def test_it_cannot_be_stepped_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = triton.compile(write(tmp_path / "axpy.tl"))
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    with pytest.raises(Exception, match="cannot be stepped through"):
        kernel.fn[(2,)](*data(), 100, 2.0)


TTIR = """
module {
  tt.func public @kernel(%arg0: !tt.ptr<f32>) { tt.return }
}
"""
TEXTS = {
    "k.ttir": (TTIR, NotYetSupported, "is the IR of Triton; expected the text of one kernel"),
    "k.ttgir": ("#blocked = #ttg.blocked<{}>" + TTIR, NotYetSupported, "is the IR of Triton"),
    "k.ptx": (".version 8.0\n.target sm_80\n", NotYetSupported, "is PTX; .* ir_override="),
    "k.ll": ("define void @f() {\n  ret void\n}\n", NotYetSupported, "is LLVM IR"),
    "bad.tl": ("module {\n  func.func @k() {\n    tl.nothing\n", triton.CompilationError,
               "bad.tl': line 3: .*; expected the text of one kernel"),
    "empty.tl": ("", triton.CompilationError, "the module has 0 functions, expected one"),
    "result.tl": ("func.func @k() -> i32 {\n  %0 = arith.constant 1 : i32\n  return %0 : i32\n}\n",
                  triton.CompilationError, "has results"),
    "block.tl": ("func.func @k(%x: tensor<4xf32>) {\n  return\n}\n", triton.CompilationError,
                 "argument 0 is no pointer and no number"),
    "two.tl": ("func.func @a() {\n  return\n}\nfunc.func @b() {\n  return\n}\n",
               triton.CompilationError, "two.tl' has 2 kernels: a, b"),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_other_texts(tmp_path: Path, name: str) -> None:
    text, kind, message = TEXTS[name]
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(kind, match=message):
        triton.compile(str(path))


def test_what_is_no_text(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        triton.compile("nowhere.ttir")
    path = tmp_path / "k.cubin"
    path.write_bytes(b"\x7fELF\xff\xfe")
    with pytest.raises(NotYetSupported, match="is binary; expected"):
        triton.compile(str(path))


def test_arguments_without_names(tmp_path: Path) -> None:
    path = tmp_path / "fill.tl"
    path.write_text(
        """
        func.func @fill(%arg0: !tl.ptr<i32>, %arg1: i32) {
          tl.store %arg0, %arg1 : !tl.ptr<i32>, i32
          return
        }
        """
    )
    x = np.zeros(1, np.uint32)
    triton.compile(path)[(1,)](x, 7)
    assert x.tolist() == [7]
