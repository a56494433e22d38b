"""Kernels with inline assembly: packing, memory, order, special registers, checks and errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import blockscope as triton
import blockscope.language as tl
import numpy as np
import pytest

torch = pytest.importorskip("torch")


@pytest.fixture(params=["whole", "steps"], autouse=True)
def mode(request: Any) -> Iterator[str]:
    """Every test runs in both CPU modes."""
    triton.set_interpret_mode(request.param == "steps")
    yield request.param
    triton.set_interpret_mode(False)


@triton.jit
def shift_bytes(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    text: tl.constexpr = "and.b32 $0, $1, 0x0F0F0F0F; shl.b32 $0, $0, 4;"
    out = tl.inline_asm_elementwise(text, "=r,r", [tl.load(x + i)], tl.uint8, True, 4)
    tl.store(y + i, out)


def test_bytes_share_a_register() -> None:
    x = torch.arange(256, dtype=torch.uint8)
    y = torch.zeros_like(x)
    shift_bytes[(1,)](x, y, 256)
    assert torch.equal(y, (x & 15) << 4)


@triton.jit
def widen_bytes(x, f, sums, halves, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.inline_asm_elementwise(
        """{
            .reg .b8 part<4>;
            mov.b32 {part0, part1, part2, part3}, $6; // $0 to $3: four integers
            cvt.u32.u8 $0, part0; cvt.u32.u8 $1, part1;
            cvt.u32.u8 $2, part2; cvt.u32.u8 $3, part3;
        }
        {
            .reg .f32 a, b, c, d; /* $4 and $5: two halves in each */
            cvt.rn.f32.u32 a, $0; cvt.rn.f32.u32 b, $1;
            cvt.rn.f32.u32 c, $2; cvt.rn.f32.u32 d, $3;
            add.f32 a, a, $7; add.f32 b, b, $8; add.f32 c, c, $9; add.f32 d, d, $10;
            cvt.rn.f16x2.f32 $4, b, a;
            cvt.rn.f16x2.f32 $5, d, c;
        }""",
        "=r,=r,=r,=r,=r,=r,r,r,r,r,r",
        [tl.load(x + i), tl.load(f + i)],
        (tl.int32, tl.float16),
        True,
        4,
    )
    tl.store(sums + i, a)
    tl.store(halves + i, b)


def test_several_results_of_different_widths() -> None:
    x = torch.arange(256, dtype=torch.uint8)
    f = torch.randn(256)
    integers = torch.zeros(256, dtype=torch.int32)
    halves = torch.zeros(256, dtype=torch.float16)
    widen_bytes[(1,)](x, f, integers, halves, 256)
    assert torch.equal(integers, x.to(torch.int32))
    assert torch.equal(halves, (x.to(torch.float32) + f).to(torch.float16))


@triton.jit
def half_pairs(x, y, z, N: tl.constexpr):
    i = tl.arange(0, N)
    text: tl.constexpr = "fma.rn.f16x2 $0, $1, $2, $1;"
    args = [tl.load(x + i), tl.load(y + i)]
    tl.store(z + i, tl.inline_asm_elementwise(text, "=r,r,r", args, tl.float16, True, 2))


def test_halves_in_pairs() -> None:
    x, y = torch.randn(2, 64).to(torch.float16)
    z = torch.zeros_like(x)
    half_pairs[(1,)](x, y, z, 64)
    exact = x.double() * y.double() + x.double()
    assert torch.equal(z, exact.to(torch.float16))


@triton.jit
def unpack_nibbles(x, low, high, N: tl.constexpr):
    i = tl.arange(0, N)
    MASK: tl.constexpr = 0x000F000F
    a, b = tl.inline_asm_elementwise(
        """{
            .reg .b32 t;
            lop3.b32 t, $2, $3, $4, $5;
            sub.f16x2 t, t, $6;
            mov.b32 {$0, $1}, t;
        }""",
        "=h,=h,r,n,n,n,r",
        [tl.load(x + i), MASK, 0x64006400, 0xEA, 0x64006400],
        (tl.float16, tl.float16),
        True,
        1,
    )
    tl.store(low + i, a)
    tl.store(high + i, b)


def test_constants_and_16_bit_registers() -> None:
    x = torch.randint(0, 2**31, (128,), dtype=torch.int32)
    low, high = torch.zeros(2, 128, dtype=torch.float16)
    unpack_nibbles[(1,)](x, low, high, 128)
    assert torch.equal(low, (x & 15).to(torch.float16))
    assert torch.equal(high, (x >> 16 & 15).to(torch.float16))


@triton.jit
def tied_and_broadcast(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    row = tl.load(x + i)[:, None]
    column = tl.arange(0, 4)[None, :]
    text: tl.constexpr = "mad.lo.s32 $0, $2, 100, $0; // $1 is $0"
    out = tl.inline_asm_elementwise(text, "=r,0,r", [row, column], tl.int32, True, 1)
    tl.store(y + i[:, None] * 4 + column, out)


def test_arguments_are_broadcast_and_may_be_tied() -> None:
    x = torch.arange(8, dtype=torch.int32)
    y = torch.zeros(8, 4, dtype=torch.int32)
    tied_and_broadcast[(1,)](x, y, 8)
    assert torch.equal(y, x[:, None] + 100 * torch.arange(4, dtype=torch.int32))


@triton.jit
def scalars(x, out):
    a = tl.load(x)
    tl.store(out, tl.inline_asm_elementwise("add.s32 $0, $1, $2;", "=r,r,r", [a, 5], tl.int32,
                                            True, 1))  # fmt: skip
    tl.store(out + 1, tl.inline_asm_elementwise("mov.u32 $0, 0x04030201;", "=r", [], tl.int8,
                                                True, 4))  # fmt: skip
    tl.store(out + 2, tl.inline_asm_elementwise("bar.sync 0;", "=r", [], tl.int32, False, 1))


def test_scalars_and_no_arguments() -> None:
    out = torch.full((3,), -1, dtype=torch.int32)
    scalars[(1,)](torch.tensor([37], dtype=torch.int32), out)
    assert out.tolist() == [42, 1, 0]


@triton.jit
def softplus(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    text: tl.constexpr = """{
        .reg .pred large;
        setp.gt.f32 large, $1, 15.;
        @large mov.f32 $0, $1;
        @!large ex2.approx.ftz.f32 $0, $1;
        @!large add.f32 $0, $0, 1.0;
        @!large lg2.approx.ftz.f32 $0, $0;
    }"""
    tl.store(y + i, tl.inline_asm_elementwise(text, "=r,r", [tl.load(x + i)], tl.float32, True, 1))


def test_predicated_instructions() -> None:
    x = torch.linspace(-30, 30, 256)
    y = torch.zeros_like(x)
    softplus[(1,)](x, y, 256)
    expected = torch.where(x > 15, x, torch.log2(1 + torch.exp2(x)))
    torch.testing.assert_close(y, expected, rtol=1e-6, atol=1e-6)


@triton.jit
def copy_by_assembly(x, y, COUNT, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.inline_asm_elementwise(
        """{
            .reg .pred inside;
            .reg .b32 a, b;
            setp.lt.s32 inside, $3, $4;
            @inside ld.global.nc.L1::no_allocate.v2.b32 {a, b}, [$1];
            @inside st.global.v2.b32 [$2 + 0], {b, a};
            mov.u32 $0, 0;
        }""",
        "=r,l,l,r,r",
        [x + 2 * i, y + 2 * i, i, COUNT],
        tl.int32,
        False,
        1,
    )


def test_memory_with_predicates_and_vectors() -> None:
    x = torch.randn(64)
    y = torch.zeros_like(x)
    copy_by_assembly[(1,)](x[:20], y[:20], 10, 32)
    assert torch.equal(y[:20].view(10, 2), x[:20].view(10, 2).flip(1))
    assert not y[20:].any()


def test_bounds_are_checked(mode: str) -> None:
    x, y = torch.randn(64).clone(), torch.zeros(20).clone()
    with triton.check("asan") as report:
        copy_by_assembly[(1,)](x, y, 32, 32)
    codes = {finding["code"] for finding in json.loads(report.json())}
    assert codes == {"oob-store"}
    assert "test_inline_asm_kernels.py" in report.text()
    with pytest.raises(triton.SanitizerError, match="store"):
        copy_by_assembly[(1,)](x, y, 32, 32)


@triton.jit
def all_store(x):
    tl.inline_asm_elementwise(
        "st.global.b32 [$1], $2; mov.u32 $0, 0;", "=r,l,r", [x, tl.program_id(0)], tl.int32, False,
        1,
    )  # fmt: skip


@triton.jit
def all_add(x, old):
    before = tl.inline_asm_elementwise(
        "atom.global.acq_rel.gpu.add.u32 $0, [$1], 1;", "=r,l", [x], tl.int32, False, 1
    )
    tl.store(old + before, tl.program_id(0))


def test_races_are_found_and_atomics_are_none() -> None:
    x = torch.zeros(1, dtype=torch.int32)
    with triton.check("tsan") as report:
        all_store[(4,)](x)
    assert "race-write-write" in report.text()
    old = torch.full((8,), -1, dtype=torch.int32)
    with triton.check("tsan") as report:
        all_add[(8,)](x.zero_(), old)
    assert json.loads(report.json()) == []
    assert x.item() == 8 and sorted(old.tolist()) == list(range(8))


@triton.jit
def atomics(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    p = x + i
    a = tl.inline_asm_elementwise("atom.global.max.s32 $0, [$1], 5;", "=r,l", [p], tl.int32,
                                  False, 1)  # fmt: skip
    b = tl.inline_asm_elementwise("atom.cas.b32 $0, [$1], 5, $2;", "=r,l,r", [p, i + 100],
                                  tl.int32, False, 1)  # fmt: skip
    tl.inline_asm_elementwise("red.global.add.u32 [$1], 1; mov.u32 $0, 0;", "=r,l", [p], tl.int32,
                              False, 1)  # fmt: skip
    c = tl.inline_asm_elementwise("ld.acquire.sys.global.s32 $0, [$1];", "=r,l", [p], tl.int32,
                                  False, 1)  # fmt: skip
    tl.store(out + i, a)
    tl.store(out + N + i, b)
    tl.store(out + 2 * N + i, c)


def test_atomics() -> None:
    x = torch.arange(8, dtype=torch.int32)
    start = x.clone()
    out = torch.zeros(24, dtype=torch.int32)
    atomics[(1,)](x, out, 8)
    after_max = start.clamp(min=5)
    after_cas = torch.where(after_max == 5, torch.arange(8, dtype=torch.int32) + 100, after_max)
    assert out[:8].tolist() == start.tolist()
    assert out[8:16].tolist() == after_max.tolist()
    assert x.tolist() == out[16:].tolist() == (after_cas + 1).tolist()


@triton.jit
def wait_for_signal(x):
    tl.inline_asm_elementwise(
        """{
            .reg .u32 %seen<1>;
            .reg .pred %p<1>;
            AGAIN:
                atom.global.relaxed.sys.cas.b32 %seen0, [$1], 0, 1;
                setp.eq.u32 %p0, %seen0, 0;
                @!%p0 bra AGAIN;
        }""",
        "=r, l",
        [x + tl.arange(0, 4)],
        tl.int32,
        False,
        1,
    )


def test_loop_with_atomics() -> None:
    x = torch.zeros(4, dtype=torch.int32)
    wait_for_signal[(1,)](x)
    assert x.tolist() == [1, 1, 1, 1]


@triton.jit
def in_order(x, out):
    first = tl.inline_asm_elementwise("ld.global.b32 $0, [$1];", "=r,l", [x], tl.int32, False, 1)
    tl.store(x, 7)
    second = tl.inline_asm_elementwise("ld.global.b32 $0, [$1];", "=r,l", [x], tl.int32, False, 1)
    tl.inline_asm_elementwise("st.global.b32 [$1], 9;", "=r,l", [x], tl.int32, False, 1)
    tl.store(out, first)
    tl.store(out + 1, second)
    tl.store(out + 2, tl.load(x))


def test_impure_assembly_keeps_its_order() -> None:
    out = torch.zeros(3, dtype=torch.int32)
    in_order[(1,)](torch.tensor([5], dtype=torch.int32), out)
    assert out.tolist() == [5, 7, 9]


@triton.jit
def special_registers(out):
    x, y, n, first, size = tl.inline_asm_elementwise(
        "mov.u32 $0, %ctaid.x; mov.u32 $1, %ctaid.y; mov.u32 $2, %nctaid.x; mov.u32 $3, %tid.x;"
        "mov.u32 $4, %ntid.x;",
        "=r,=r,=r,=r,=r",
        [],
        (tl.int32, tl.int32, tl.int32, tl.int32, tl.int32),
        True,
        1,
    )
    at = out + 5 * (tl.program_id(0) + 3 * tl.program_id(1))
    tl.store(at, x)
    tl.store(at + 1, y)
    tl.store(at + 2, n)
    tl.store(at + 3, first)
    tl.store(at + 4, size)


def test_special_registers() -> None:
    out = torch.zeros(6, 5, dtype=torch.int32)
    special_registers[(3, 2)](out)
    assert out.tolist() == [[x, y, 3, 0, 1] for y in range(2) for x in range(3)]


@triton.jit
def spend_time(out):
    a = tl.inline_asm_elementwise("mov.u64 $0, %globaltimer;", "=l", [], tl.int64, False, 1)
    tl.inline_asm_elementwise(
        "{.reg .u64 start, now; .reg .pred done; mov.u64 start, %clock64; L: mov.u64 now, %clock64;"
        "sub.u64 now, now, start; setp.ge.u64 done, now, 100000; @!done bra L; mov.u32 $0, 0;}",
        "=r",
        [],
        tl.int32,
        False,
        1,
    )
    b = tl.inline_asm_elementwise("mov.u64 $0, %globaltimer;", "=l", [], tl.int64, False, 1)
    tl.store(out, b - a)


def test_clocks_go_on() -> None:
    out = torch.zeros(1, dtype=torch.int64)
    spend_time[(1,)](out)
    assert out.item() >= 100_000


@triton.jit
def _largest(a, b):
    return tl.inline_asm_elementwise("max.s32 $0, $1, $2;", "=r,r,r", [a, b], tl.int32, True, 1)


@triton.jit
def _twice(a):
    return tl.inline_asm_elementwise("add.s32 $0, $1, $1;", "=r,r", [a], tl.int32, True, 1)


@triton.jit
def in_functions(x, out, N: tl.constexpr):
    values = tl.load(x + tl.arange(0, N))
    tl.store(out, tl.reduce(values, 0, _largest))
    tl.store(out + 1, tl.sum(tl.map_elementwise(_twice, values), 0))
    total = 0
    for i in range(3):
        total += _twice(i)
    tl.store(out + 2, total)


def test_in_reductions_maps_and_loops() -> None:
    x = torch.randint(-1000, 1000, (64,), dtype=torch.int32)
    out = torch.zeros(3, dtype=torch.int32)
    in_functions[(1,)](x, out, 64)
    assert out.tolist() == [x.max().item(), 2 * x.sum().item(), 6]


# -- what cannot be interpreted -------------------------------------------------------------------

ERRORS = [
    ("foo.b32 $0, $1;", "in 'foo.b32 $0, $1': the instruction 'foo.b32' is not supported"),
    ("add.u32 $0,\n $1", "in 'add.u32 $0, $1': expected ';', found the end"),
    ("add.u32 $0, $1, x;", "in 'add.u32 $0, $1, x;': 'x' is not declared"),
    ("add.u32 $0, $2, 1;", "the constraints have no operand '$2'"),
    ("add.s64 $0, $1, 1;", "in 'add.s64 $0, $1, 1': '$0' has 32 bits, and '.s64' has 64"),
    ("add.u32 $0, $1;", "it has 2 operands, expected 3"),
    ("add.u32.foo $0, $1, 1;", "the instruction 'add.u32.foo' is not supported on the CPU"),
    ("add.cc.u32 $0, $1, 1;", "the carry flag ('.cc') is not supported on the CPU"),
    ("{ add.u32 $0, $1, 1;", "a '{' is not closed"),
    ("add.u32 $0, $1, 1; }", "there is no '{' before this '}'"),
    ("bra L;", "in 'bra L': there is no label 'L'"),
    ("@$1 add.u32 $0, $1, 1;", "what stands after '@' is no predicate"),
    ("add.f32 $0, $1, 3;", "neither a register nor a number of type '.f32'"),
    ("mov.u32 $0, %foo;", "'%foo' is neither declared nor a special register"),
    ("mov.u64 $0, %clock64;", "'$0' has 32 bits"),
    (".shared .b32 x;", "the directive '.shared' is not supported on the CPU"),
    ("ld.shared.b32 $0, [$1];", "only global memory can be accessed on the CPU"),
    ("shfl.sync.bfly.b32 $0, $1, 1, 31, -1;", "'shfl' exchanges data between threads"),
    ("trap;", "'trap' leaves the assembly"),
    ("cvt.f16.f32 $0, $1;", "a rounding is missing, such as '.rn'"),
    ("cvt.rs.satfinite.e4m3x4.f32 $0, {$1,$1,$1,$1}, $1;", "is not documented"),
    ("v_add_u32 $0, $1, $1", "expected ';'"),
    ("{.reg .u32 a, a;}", "'a' is declared twice"),
    ("setp.lt.s32;", "it has 0 operands, expected 3"),
    ("mov.b32 $0, {{{{{{{{", "its operands are nested too deeply"),
    ("mov.b32 $0, ${", "in 'mov.b32 $0, ${'"),
]


@triton.jit
def any_text(x, TEXT: tl.constexpr):
    at = x + tl.arange(0, 8)
    tl.store(at, tl.inline_asm_elementwise(TEXT, "=r,r", [tl.load(at)], tl.int32, True, 1))


@pytest.mark.parametrize(("text", "message"), ERRORS)
def test_error(text: str, message: str, mode: str) -> None:
    x = torch.zeros(8, dtype=torch.int32)
    kind = triton.CompilationError if mode == "whole" else ValueError
    with pytest.raises(kind) as caught:
        any_text[(1,)](x, text)
    assert message in str(caught.value)
    if mode == "whole":
        assert "test_inline_asm_kernels.py:" in str(caught.value)
        line = "\n      tl.store(at, tl.inline_asm_elementwise(TEXT"
        assert line in str(caught.value) and str(caught.value).endswith(" ^")
    assert not x.any()


# -- tl.extra -------------------------------------------------------------------------------------


@triton.jit
def target_numbers(out):
    tl.store(out, tl.extra.cuda.num_warps())
    tl.store(out + 1, tl.extra.cuda.num_threads())
    tl.store(out + 2, tl.extra.cuda.smid())
    tl.store(out + 3, tl.extra.hip.num_threads())
    threads: tl.constexpr = tl.extra.cuda.num_threads()
    tl.store(out + 4, tl.sum(tl.full((threads,), 1, tl.int32), 0))


@pytest.mark.parametrize("warps", [1, 8, 2])
def test_numbers_of_a_launch(warps: int) -> None:
    out = torch.full((5,), -1, dtype=torch.int32)
    target_numbers[(1,)](out, num_warps=warps)
    assert out.tolist() == [warps, 32 * warps, 0, 32 * warps, 32 * warps]


@triton.jit
def custom_float8(x, up, wide, down, N: tl.constexpr):
    i = tl.arange(0, N)
    narrow = tl.load(x + i).to(tl.float8e4b15, bitcast=True)
    half = tl.extra.cuda.convert_custom_float8_sm80(narrow, tl.float16)
    tl.store(up + i, half)
    tl.store(wide + i, tl.extra.cuda.convert_custom_float8_sm70(narrow, tl.float32))
    again = tl.extra.cuda.convert_custom_float8_sm70(half, tl.float8e4b15)
    tl.store(down + i, again.to(tl.uint8, bitcast=True))


def test_custom_float8() -> None:
    x = torch.arange(256, dtype=torch.int32).to(torch.uint8)
    up, wide, down = torch.zeros(256, dtype=torch.float16), torch.zeros(256), torch.zeros_like(x)
    custom_float8[(1,)](x, up, wide, down, 256)
    bits = x.to(torch.int32)
    half = ((bits & 0x80) << 8 | (bits & 0x7F) << 7).to(torch.int16).view(torch.float16)
    assert torch.equal(up, half) and torch.equal(wide, half.float())
    expected = np.where(x.numpy() & 0x7F == 0x7F, x.numpy() - 1, x.numpy())  # at most 1.75
    assert down.tolist() == expected.tolist()


@triton.jit
def unpack_vnni(x, y, ROWS: tl.constexpr, COLUMNS: tl.constexpr, P: tl.constexpr):
    i = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    out = tl.extra.cpu.vnni_decode(tl.load(x + i))
    j = tl.arange(0, ROWS * P)[:, None] * (COLUMNS // P) + tl.arange(0, COLUMNS // P)[None, :]
    tl.store(y + j, out)


def test_vnni_decode() -> None:
    x = torch.randn(4, 8).to(torch.float16)
    y = torch.zeros(8, 4, dtype=torch.float16)
    unpack_vnni[(1,)](x, y, 4, 8, 2)
    assert torch.equal(y, x.view(4, 4, 2).transpose(1, 2).reshape(8, 4))
