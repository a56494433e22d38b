"""device_print and device_assert compiled for the GPU: the sites, and the buffer as the last
parameter but for tensor maps."""

from __future__ import annotations

import re
from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import pytest
from blockscope.errors import CompilationError

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: Any) -> None:
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")


@triton.jit
def print_kernel(x_ptr, n):
    offsets = tl.arange(0, 64)
    x = tl.load(x_ptr + offsets)
    tl.device_print("here")
    tl.device_print("x", x, n)
    tl.device_print("bits", offsets, hex=True)


@triton.jit
def assert_kernel(x_ptr, n):
    offsets = tl.arange(0, 64)
    x = tl.load(x_ptr + offsets)
    tl.device_assert(x > 0, "x is positive", mask=offsets < n)
    tl.store(x_ptr + offsets, x + 1)


@triton.jit
def combine(a, b):
    tl.device_print("a", a)
    return a + b


@triton.jit
def combine_kernel(x_ptr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(x_ptr, tl.reduce(x, 0, combine))


def parameters(kernel: Any) -> int:
    return kernel.asm["ptx"].count(".param ")


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_a_print_has_a_site_for_each_value(arch: str) -> None:
    kernel = print_kernel.warmup(tl.float16, 7, grid=(1,), arch=arch)
    assert kernel.data["takes_debug_buffer"]
    assert parameters(kernel) == 3
    assert kernel.warnings == []
    sites = kernel.data["debug_sites"]
    assert [site["text"] for site in sites] == [
        "here", " x: (operand 0) ", " x: (operand 1) ", " bits: ",
    ]  # fmt: skip
    assert [site["values"] for site in sites] == [[], ["fp16"], ["int32"], ["uint32"]]
    assert [site["shape"] for site in sites] == [[], [64], [], [64]]
    assert [site["hex"] for site in sites] == [False, False, False, True]
    first = print_kernel.fn.__code__.co_firstlineno
    assert [site["line"] - first for site in sites] == [4, 5, 5, 6]
    assert kernel.asm["ptx"].count("atom.global.add.u32") >= 4


def test_fp8_is_printed_as_fp32() -> None:
    kernel = print_kernel.warmup(tl.float8e4b15, 7, grid=(1,), arch="sm_90a")
    assert kernel.data["debug_sites"][1]["values"] == ["fp32"]


def test_asserts_are_compiled_only_for_debugging() -> None:
    plain = assert_kernel.warmup(tl.float32, 7, grid=(1,), arch="sm_90a")
    assert not plain.data["takes_debug_buffer"]
    assert parameters(plain) == 2
    assert "atom" not in plain.asm["ptx"]
    kernel = assert_kernel.warmup(tl.float32, 7, grid=(1,), arch="sm_90a", debug=True)
    assert kernel.data["takes_debug_buffer"]
    assert parameters(kernel) == 3
    (site,) = kernel.data["debug_sites"]
    assert site["is_assert"]
    assert site["text"] == "x is positive"
    assert site["shape"] == [64]
    assert site["file"].endswith("test_gpu_compile_debug.py")


def test_a_combine_function_cannot_print() -> None:
    with pytest.raises(CompilationError, match="device_print in a combine function"):
        combine_kernel.warmup(tl.float32, grid=(1,), arch="sm_90a")


@triton.jit
def described_kernel(x_ptr, y_ptr, out_ptr, n, stride_ptr, K: tl.constexpr):
    stride = tl.load(stride_ptr)  # the kernel makes the map of x, the launch that of y
    x = tl.make_tensor_descriptor(x_ptr, [64, n], [stride, 1], [64, K])
    y = tl.make_tensor_descriptor(y_ptr, [64, n], [n, 1], [64, K])
    total = tl.zeros((64, 64), tl.float32)
    for i in range(n // K):
        total = tl.dot(x.load([0, i * K]), y.load([0, i * K]).trans(), total)
    tl.device_print("n", n)
    rows = tl.arange(0, 64)
    tl.store(out_ptr + rows[:, None] * 64 + rows[None, :], total)


def test_the_buffer_is_found_beside_scratch_memory_and_tensor_maps() -> None:
    kernel = described_kernel.warmup(
        tl.float16, tl.float16, tl.float32, 256, tl.int32, K=64, grid=(1,), arch="sm_90a"
    )
    assert kernel.data["global_scratch_size"] == 128
    assert len(kernel.data["tensor_maps"]) == 1
    ptx = kernel.asm["ptx"]
    assert parameters(kernel) == 5 + 3
    (buffer,) = set(re.findall(r"atom\.global\.add\.u32\s+%r\d+, \[(%rd\d+)\]", ptx))
    assert re.search(rf"ld\.param\.b64\s+{buffer}, \[described_kernel_param_6\];", ptx)
