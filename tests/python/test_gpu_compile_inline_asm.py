"""Inline assembly on the GPU: what ptxas gets, without a GPU."""

from __future__ import annotations

import re
from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import pytest
import test_inline_asm_kernels as kernels
from blockscope.errors import PTXASError

pytestmark = pytest.mark.skipif(not gpu_rows.has_tools(), reason="ptxas is not installed")
ARCHES = ["sm_80", "sm_90a", "sm_120a"]


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: Any) -> None:
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")


def ptx(
    kernel: Any, *types: Any, arch: str = "sm_90a", num_warps: int = 4, **constants: Any
) -> str:
    made = kernel.warmup(*types, **constants, grid=(1,), arch=arch, num_warps=num_warps)
    return str(made.asm["ptx"])


def texts(ptx: str) -> list[str]:
    """The user's inline assembly in PTX; that of the back end is predicated."""
    found = re.findall(r"// begin inline asm\n(.*?)// end inline asm", ptx, re.DOTALL)
    return [text.strip() for text in found if not text.strip().startswith("@")]


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize(
    ("name", "types", "constants"),
    [
        ("widen_bytes", (tl.uint8, tl.float32, tl.int32, tl.float16), {"N": 256}),
        ("half_pairs", (tl.float16, tl.float16, tl.float16), {"N": 64}),
        ("unpack_nibbles", (tl.int32, tl.float16, tl.float16), {"N": 128}),
        ("tied_and_broadcast", (tl.int32, tl.int32), {"N": 8}),
        ("scalars", (tl.int32, tl.int32), {}),
        ("softplus", (tl.float32, tl.float32), {"N": 256}),
        ("copy_by_assembly", (tl.float32, tl.float32, 10), {"N": 32}),
        ("atomics", (tl.int32, tl.int32), {"N": 8}),
        ("wait_for_signal", (tl.int32,), {}),
        ("in_order", (tl.int32, tl.int32), {}),
        ("special_registers", (tl.int32,), {}),
        ("spend_time", (tl.int64,), {}),
        ("in_functions", (tl.int32, tl.int32), {"N": 64}),
        ("target_numbers", (tl.int32,), {}),
        ("custom_float8", (tl.uint8, tl.float16, tl.float32, tl.uint8), {"N": 256}),
    ],
)
def test_kernels_compile(name: str, types: Any, constants: Any, arch: str) -> None:
    assert ptx(getattr(kernels, name), *types, arch=arch, **constants)


def test_a_thread_has_the_bytes_of_a_register() -> None:
    text = ptx(kernels.shift_bytes, tl.uint8, tl.uint8, N=512)
    assert len(texts(text)) == 1
    assert "shfl" not in text and "prmt" not in text and ".shared" not in text


def test_bytes_come_together_where_a_thread_has_one() -> None:
    text = ptx(kernels.shift_bytes, tl.uint8, tl.uint8, N=128)
    assert len(texts(text)) >= 1


def test_impure_assembly_stays_and_keeps_its_order() -> None:
    text = ptx(kernels.in_order, tl.int32, tl.int32)
    accesses = re.findall(r"^\s*(?:@%p\d+ )?(ld|st)\.global", text, re.MULTILINE)
    assert accesses[:5] == ["ld", "st", "ld", "st", "ld"] or accesses[:4] == [
        "ld",
        "st",
        "ld",
        "st",
    ]
    assert [one.split(".")[0] for one in texts(text)][:3] == ["ld", "ld", "st"]


@triton.jit
def twice(x, out, IS_PURE: tl.constexpr):
    a = tl.load(x)
    tl.inline_asm_elementwise("add.s32 $0, $1, 1;", "=r,r", [a], tl.int32, IS_PURE, 1)
    tl.inline_asm_elementwise("add.s32 $0, $1, 1;", "=r,r", [a], tl.int32, IS_PURE, 1)
    b = tl.inline_asm_elementwise("add.s32 $0, $1, 1;", "=r,r", [a], tl.int32, IS_PURE, 1)
    tl.store(out, b)


def test_pure_assembly_is_run_once() -> None:
    assert len(texts(ptx(twice, tl.int32, tl.int32, IS_PURE=True))) == 1
    assert len(texts(ptx(twice, tl.int32, tl.int32, IS_PURE=False))) == 3


@triton.jit
def no_constant(x, out):
    tl.store(
        out,
        tl.inline_asm_elementwise("add.s32 $0, $1, 1;", "=r,n", [tl.load(x)], tl.int32, True, 1),
    )


def test_a_constant_has_to_be_one() -> None:
    with pytest.raises(triton.CompilationError, match="constraint 'n' needs a constant, and"):
        ptx(no_constant, tl.int32, tl.int32)


@triton.jit
def unknown(x, out):
    tl.store(
        out, tl.inline_asm_elementwise("foo.s32 $0, $1;", "=r,r", [tl.load(x)], tl.int32, True, 1)
    )


def test_what_ptxas_does_not_take_is_its_error_with_the_line() -> None:
    with pytest.raises(PTXASError, match="Not a name of any known instruction: 'foo'") as caught:
        ptx(unknown, tl.int32, tl.int32)
    line = unknown.fn.__code__.co_firstlineno + 3
    assert f"from {__file__}:{line}: " in str(caught.value)


def test_num_warps_is_that_of_the_launch() -> None:
    text = ptx(kernels.target_numbers, tl.int32, num_warps=8)
    assert re.search(r"mov\.b32\s+%r\d+, 8;|\], 8;", text)
    assert text.count("%smid") == 1


@triton.jit
def branch_by_lop3(x_ptr, out_ptr):
    x, y, z = tl.load(x_ptr), tl.load(x_ptr + 1), tl.load(x_ptr + 2)
    mixed = tl.inline_asm_elementwise(
        "lop3.b32 $0, $1, $2, $3, 0xea;", "=r,r,r,r", [x, y, z], tl.int32, is_pure=True, pack=1
    )
    if mixed != 0:
        tl.store(out_ptr, x)


@pytest.mark.parametrize("arch", ARCHES)
def test_a_branch_by_lop3_does_not_end_ptxas(arch: str) -> None:
    assert "lop3.b32" in ptx(branch_by_lop3, tl.int32, tl.int32, arch=arch)
