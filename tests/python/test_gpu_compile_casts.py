"""Casts on the GPU: the instructions that each target has for them, and none of LLVM's own where
PTX defines more values than LLVM does."""

from __future__ import annotations

from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import pytest

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)

FP8 = ("float8e4nv", "float8e5", "float8e4b8", "float8e5b16", "float8e4b15")
FLOATS = (*FP8, "float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


@triton.jit
def cast_kernel(x_ptr, y_ptr, ROUNDING: tl.constexpr):
    offsets = tl.arange(0, 512)
    x = tl.load(x_ptr + offsets)
    to = y_ptr.dtype.element_ty
    tl.store(y_ptr + offsets, x.to(to, fp_downcast_rounding=ROUNDING))


def ptx(source: str, target: str, arch: str, rounding: str | None = None) -> str:
    kernel = cast_kernel.warmup(
        tl.dtype(source), tl.dtype(target), ROUNDING=rounding, grid=(1,), arch=arch
    )
    assert kernel.warnings == []
    return kernel.asm["ptx"]


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: Any) -> None:
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_all_pairs_of_types_compile(arch: str) -> None:
    pairs = [(a, b) for a in FLOATS + INTEGERS for b in FLOATS + INTEGERS if a != b]
    assert len(pairs) == 17 * 16
    # Every pair once, over the two targets; fp8 on both, since they differ there.
    for number, (source, target) in enumerate(pairs):
        if source in FP8 or target in FP8 or number % 2 == (arch == "sm_80"):
            ptx(source, target, arch)


@pytest.mark.parametrize("target", FP8)
@pytest.mark.parametrize("source", ["float16", "float32", "float64"])
def test_rounding_toward_zero_compiles(source: str, target: str) -> None:
    ptx(source, target, "sm_90a", "rtz")


def test_fp8_goes_by_pairs_where_the_target_can() -> None:
    assert ptx("float32", "float8e4nv", "sm_90a").count("cvt.rn.satfinite.e4m3x2.f32") == 2
    assert ptx("bfloat16", "float8e5", "sm_90a").count("cvt.rn.satfinite.e5m2x2.f32") == 2
    assert ptx("float16", "float8e5", "sm_90a").count("cvt.rn.satfinite.e5m2x2.f16x2") == 2
    assert ptx("float16", "float8e4nv", "sm_89").count("cvt.rn.satfinite.e4m3x2.f16x2") == 2
    assert ptx("float8e4nv", "float16", "sm_90a").count("cvt.rn.f16x2.e4m3x2") == 2
    assert ptx("float8e5", "float16", "sm_90a").count("cvt.rn.f16x2.e5m2x2") == 2
    assert "cvt.rn.satfinite" in ptx("float32", "float8e4nv", "sm_89")


def test_fp8_is_integer_arithmetic_elsewhere() -> None:
    for source, target in (("float32", "float8e4nv"), ("float8e4nv", "float32")):
        text = ptx(source, target, "sm_80")
        assert "e4m3" not in text
    assert "e4m3" not in ptx("float32", "float8e4nv", "sm_90a", "rtz")
    for kind in ("float8e4b8", "float8e5b16", "float8e4b15"):
        assert "x2" not in ptx("float32", kind, "sm_90a")


def test_fp8e5_is_the_upper_byte_of_fp16_elsewhere() -> None:
    text = ptx("float8e5", "float16", "sm_80")
    assert "cvt.rn.f16" not in text
    assert "e5m2" not in text


def test_half_types_are_rounded_once() -> None:
    assert "cvt.rn.f16x2.f32" in ptx("float32", "float16", "sm_80")
    assert "cvt.rz.f16.f32" in ptx("float32", "float16", "sm_80", "rtz")
    assert "cvt.rn.bf16" in ptx("float32", "bfloat16", "sm_80")
    assert "cvt.rz.bf16.f32" in ptx("float32", "bfloat16", "sm_80", "rtz")
    assert "cvt.rn.f16.f64" in ptx("float64", "float16", "sm_80")
    assert "cvt.rn.f16.s32" in ptx("int32", "float16", "sm_90a")
    # An integer of 32 bits does not fit fp32: it is cut, the cut marked, and then rounded.
    text = ptx("int32", "bfloat16", "sm_80")
    assert "cvt.rz.f32.s32" in text
    assert "cvt.rn.f32.s32" not in text
    assert "cvt.rn.bf16.s32" in ptx("int32", "bfloat16", "sm_90a")
    assert "cvt.rn.bf16.u64" in ptx("uint64", "bfloat16", "sm_90a")


def test_integers_saturate_as_ptx_does() -> None:
    assert "cvt.rzi.s32.f32" in ptx("float32", "int32", "sm_80")
    assert "cvt.rzi.u64.f64" in ptx("float64", "uint64", "sm_80")
    assert "cvt.rzi.s16.f32" in ptx("float32", "int8", "sm_80")
    assert "cvt.rzi.u16.f16" in ptx("float16", "uint8", "sm_80")
    assert "cvt.rzi.s64.bf16" in ptx("bfloat16", "int64", "sm_90a")
    assert "cvt.rzi.s32.f32" in ptx("bfloat16", "int32", "sm_80")
