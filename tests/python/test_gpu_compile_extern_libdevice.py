"""Every function of libdevice that the language names links and assembles."""

from __future__ import annotations

from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import pytest
from blockscope.errors import CompilationError
from blockscope.language.core import builtin, unwrap
from blockscope.language.extra import libdevice

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)

SYMBOLS = {
    symbol: (arguments, result)
    for overloads in libdevice.FUNCTIONS.values()
    for arguments, (symbol, result) in overloads.items()
    if symbol.startswith("__nv_")  # others are ops
}


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: Any) -> None:
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")


@builtin
def call(symbol: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """A dict, which says what to call, cannot be written in a kernel."""
    arguments, result = SYMBOLS.get(unwrap(symbol), ((tl.float32,), tl.float32))
    operands = [x.to(dtype) for x, dtype in zip((a, b, c, d), arguments, strict=False)]
    return libdevice.extern_elementwise("", "", operands, {arguments: (unwrap(symbol), result)})


@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, d_ptr, out_ptr, SYMBOLS_HERE: tl.constexpr):
    offsets = tl.arange(0, 32)
    a = tl.load(a_ptr + offsets)
    b = tl.load(b_ptr + offsets)
    c = tl.load(c_ptr + offsets)
    d = tl.load(d_ptr + offsets)
    for i in tl.static_range(len(SYMBOLS_HERE)):
        result = call(SYMBOLS_HERE[i], a, b, c, d)
        tl.store(out_ptr + offsets + 32 * i, result.to(tl.float64))


def compiled(symbols: tuple[str, ...], arch: str) -> Any:
    types = [tl.float64] * 5
    return kernel.warmup(*types, SYMBOLS_HERE=symbols, grid=(1,), arch=arch, num_warps=1)


def test_the_table_is_whole() -> None:
    assert len(libdevice.FUNCTIONS) == 198
    assert len(SYMBOLS) > 250


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("part", range(8))
def test_symbols_link_and_assemble(part: int, arch: str) -> None:
    result = compiled(tuple(sorted(SYMBOLS)[part::8]), arch)
    assert result.warnings == []
    assert ".extern .func" not in result.asm["ptx"]


def test_the_root_is_exact() -> None:
    assert "sqrt.rn.f32" in compiled(("__nv_sqrtf",), "sm_90a").asm["ptx"]


@pytest.mark.parametrize(
    ("symbol", "instructions"),
    [("rsqrtf", ["rsqrt"]), ("exp2f", ["ex2"]), ("fast_expf", ["ex2"]), ("fast_exp10f", ["ex2"]),
     ("fast_logf", ["lg2"]), ("fast_log2f", ["lg2"]), ("fast_log10f", ["lg2"]),
     ("fast_powf", ["lg2", "ex2"])],
)  # fmt: skip
def test_fast_functions_take_subnormal_numbers_for_0(symbol: str, instructions: list[str]) -> None:
    text = compiled(("__nv_" + symbol,), "sm_90a").asm["ptx"]
    for instruction in instructions:
        assert f"{instruction}.approx.ftz.f32" in text
        assert f"{instruction}.approx.f32" not in text


def test_an_unknown_function_is_an_error() -> None:
    with pytest.raises(CompilationError, match="__nv_nothing"):
        compiled(("__nv_nothing",), "sm_90a")
