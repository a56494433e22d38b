"""Math on the GPU: approximate where Triton's is, exact where the language promises it."""

from __future__ import annotations

import re
from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import pytest

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)


@triton.jit
def kernel(x_ptr, y_ptr, z_ptr, out_ptr, CALL: tl.constexpr):
    offsets = tl.arange(0, 128)
    x = tl.load(x_ptr + offsets)
    y = tl.load(y_ptr + offsets)
    z = tl.load(z_ptr + offsets)
    tl.store(out_ptr + offsets, CALL(x, y, z))


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: Any) -> None:
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")


def compiled(call: Any, dtype: Any = tl.float32, arch: str = "sm_90a") -> Any:
    result = kernel.warmup(dtype, dtype, dtype, dtype, CALL=call, grid=(1,), arch=arch)
    assert result.warnings == []
    return result


def ptx(call: Any, dtype: Any = tl.float32, arch: str = "sm_90a") -> str:
    return compiled(call, dtype, arch).asm["ptx"]


@triton.jit
def divide(x, y, z):
    return x / y


@triton.jit
def divide_exactly(x, y, z):
    return tl.div_rn(x, y)


@triton.jit
def divide_as_told(x, y, z):
    return tl.fdiv(x, y, ieee_rounding=True)


@triton.jit
def root(x, y, z):
    return tl.sqrt(x)


@triton.jit
def root_exactly(x, y, z):
    return tl.sqrt_rn(x)


def test_division_and_root_are_exact_only_where_promised() -> None:
    assert "div.full.f32" in ptx(divide)
    assert "div.rn.f32" in ptx(divide_exactly)
    assert "div.rn.f32" in ptx(divide_as_told)
    assert "div.rn.f64" in ptx(divide, tl.float64)
    assert "sqrt.approx.ftz.f32" in ptx(root)
    assert "sqrt.rn.f32" in ptx(root_exactly)
    assert "sqrt.rn.f64" in ptx(root, tl.float64)


def test_the_block_ir_distinguishes_them() -> None:
    assert "fastmath<afn>" in compiled(divide).asm["tl"]
    assert "fastmath" not in compiled(divide_exactly).asm["tl"]
    assert "fastmath" not in compiled(divide, tl.float64).asm["tl"]


@triton.jit
def exponential(x, y, z):
    return tl.exp(x)


@triton.jit
def exponential2(x, y, z):
    return tl.exp2(x)


@triton.jit
def reciprocal_root(x, y, z):
    return tl.rsqrt(x)


def test_exponentials_are_one_instruction() -> None:
    assert "ex2.approx.f32" in ptx(exponential)
    assert "ex2.approx.ftz.f32" in ptx(exponential2)
    assert "rsqrt.approx.ftz.f32" in ptx(reciprocal_root)


@triton.jit
def many(x, y, z):
    return tl.log(x) + tl.log2(x) * tl.sin(y) + tl.cos(y) + tl.erf(z) + tl.exp(x) + tl.exp2(y)


@triton.jit
def rounded(x, y, z):
    return tl.floor(x) + tl.ceil(y) + tl.abs(z)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("dtype", [tl.float32, tl.float64])
def test_libdevice_is_linked(dtype: Any, arch: str) -> None:
    assert "__nv_" not in ptx(many, dtype, arch)
    text = ptx(rounded, dtype, arch)
    width = dtype.primitive_bitwidth
    assert f"cvt.rmi.f{width}" in text
    assert f"cvt.rpi.f{width}" in text
    assert f"abs.f{width}" in text


@triton.jit
def clamped(x, y, z):
    return tl.clamp(x, y, z)


@triton.jit
def clamped_nan(x, y, z):
    return tl.clamp(x, y, z, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def fused(x, y, z):
    return tl.fma(x, y, z)


@triton.jit
def modulo(x, y, z):
    return x % y


def test_clamp_and_fma() -> None:
    text = ptx(clamped)
    assert "max.f32" in text
    assert "min.f32" in text
    assert "max.NaN.f32" in ptx(clamped_nan)
    assert "fma.rn.f32" in ptx(fused, tl.float16)  # computed in fp32 and rounded, as on the CPU
    assert "fma.rn.f64" in ptx(fused, tl.float64)
    assert "__nv_" not in ptx(modulo)


@triton.jit
def sum_of_fp8(x, y, z):
    return tl.abs(x + y) * z


@triton.jit
def high(x, y, z):
    return tl.umulhi(x, y)


def test_fp8_is_computed_in_fp32() -> None:
    for dtype in (tl.float8e4nv, tl.float8e5, tl.float8e4b8, tl.float8e5b16):
        text = ptx(sum_of_fp8, dtype, "sm_80")
        assert "add.rn.f32" in text or "add.f32" in text


def test_high_products() -> None:
    assert "mul.hi.u32" in ptx(high, tl.int32)
    assert "mul.hi.u64" in ptx(high, tl.uint64)


@triton.jit
def random_kernel(out_ptr, seed):
    offsets = tl.arange(0, 256)
    tl.store(out_ptr + offsets, tl.rand(seed, offsets) + tl.randn(seed, offsets))


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_random_numbers_compile(arch: str) -> None:
    result = random_kernel.warmup(tl.float32, 7, grid=(1,), arch=arch)
    assert "mul.hi.u32" in result.asm["ptx"] or "mul.wide.u32" in result.asm["ptx"]
    assert result.n_spills == 0


@triton.jit
def dropout_kernel(x_ptr, mask_ptr, seed, N: tl.constexpr, STORES: tl.constexpr):
    offsets = tl.arange(0, N)
    keep = tl.rand(seed, offsets) > 0.5
    tl.store(x_ptr + offsets, tl.where(keep, tl.load(x_ptr + offsets), 0.0))
    if STORES:
        tl.store(mask_ptr + offsets, keep)


def test_random_numbers_are_computed_in_one_layout() -> None:
    """The mask goes to its layout, of 16 bytes a thread, by shared memory."""

    def products(stores: bool) -> int:
        kernel = dropout_kernel.warmup(
            tl.float32, tl.int1, 7, N=4096, STORES=stores, grid=(1,), arch="sm_90a"
        )
        return sum(kernel.asm["ptx"].count(name) for name in ("mul.hi.u32", "mul.wide.u32"))

    assert products(True) == products(False) > 0


@triton.jit
def sines_kernel(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(out_ptr + i, tl.sin(x) + tl.cos(x))


def test_sines_of_large_numbers_are_computed_in_one_loop() -> None:
    """Each sine and each cosine has one branch and one copy of the long way, for 16 elements."""
    result = sines_kernel.warmup(tl.float32, tl.float32, N=2048, grid=(1,), arch="sm_90a")
    text = result.asm["ptx"]
    assert text.count("ld.global.v4") == 4
    assert len(re.findall(r"mul\S*\.f64", text)) == 2
