"""The language beyond single ops: custom combine functions, random numbers, libdevice, types."""

# ruff: noqa: E501
from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import blockscope
import blockscope.language as tl
import numpy as np
import pytest
from blockscope.language.core import builtin
from blockscope.language.extra import libdevice


@pytest.fixture(params=["whole", "step"])
def mode(request: pytest.FixtureRequest) -> Iterator[str]:
    blockscope.set_interpret_mode(request.param == "step")
    yield request.param
    blockscope.set_interpret_mode(False)


# -- reductions with functions of the user --------------------------------------------------------


@blockscope.jit
def absolute_max(a, b):
    return tl.where(tl.abs(a) > tl.abs(b), a, b)


@blockscope.jit
def welford(mean_a, m2_a, n_a, mean_b, m2_b, n_b):
    delta = mean_b - mean_a
    n = n_a + n_b
    ratio = n_b / n
    return mean_a + delta * ratio, m2_a + m2_b + delta * delta * n_a * ratio, n


@blockscope.jit
def larger_pair(value_a, index_a, value_b, index_b):
    if value_a > value_b:
        value, index = value_a, index_a
    else:
        value, index = value_b, index_b
    return value, index


@blockscope.jit
def nearer_to_zero(a, b):
    return a if tl.abs(a) < tl.abs(b) else b


@blockscope.jit
def branching_reductions(x, out, M: tl.constexpr, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    column = tl.broadcast_to(tl.arange(0, N)[None, :], (M, N))
    value, index = tl.reduce((v, column), 1, larger_pair)
    row = tl.arange(0, M)
    tl.store(out + row, value)
    tl.store(out + M + row, index.to(tl.float32))
    near = tl.associative_scan(v, 1, nearer_to_zero)
    tl.store(out + 2 * M + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], near)


def test_combine_functions_with_branches(mode: str) -> None:
    x = np.random.default_rng(2).standard_normal((4, 8)).astype(np.float32)
    out = np.zeros(8 + 32, np.float32)
    branching_reductions[(1,)](x, out, M=4, N=8)
    np.testing.assert_array_equal(out[:4], x.max(1))
    np.testing.assert_array_equal(out[4:8], x.argmax(1))
    nearest = [[min(row[: j + 1], key=abs) for j in range(8)] for row in x]
    np.testing.assert_array_equal(out[8:].reshape(4, 8), nearest)


@blockscope.jit
def fails_in_the_second_call(a, b):
    if a > b:
        return undefined_name  # noqa: F821
    return b


@blockscope.jit
def reduce_with_mistake(x, out):
    tl.store(out, tl.reduce(tl.load(x + tl.arange(0, 8)), 0, fails_in_the_second_call))


def test_a_mistake_in_a_branch_of_a_combine_function_is_named(mode: str) -> None:
    with pytest.raises((NameError, blockscope.CompilationError), match="undefined_name"):
        reduce_with_mistake[(1,)](np.arange(8.0)[::-1].copy(), np.zeros(1))


@blockscope.jit
def halve_while(x, out):
    value = tl.load(x)
    count = 0
    while tl.condition(value > 1):
        value = value // 2
        count += 1
    tl.store(out, count)


def test_condition_of_a_loop(mode: str) -> None:
    out = np.zeros(1, np.int32)
    halve_while[(1,)](np.array([37], np.int32), out)
    assert out[0] == 5


@blockscope.must_use_result("it changes nothing")
@blockscope.jit
def doubled(x):
    return x * 2


@blockscope.jit
def drops_a_result(x):
    doubled(tl.load(x))


@blockscope.jit
def drops_an_advance(x):
    p = tl.make_block_ptr(x, (8,), (1,), (0,), (4,), (0,))
    tl.advance(p, (4,))


@blockscope.jit
def uses_the_result(x):
    tl.store(x, doubled(tl.load(x)))
    tl.load(x)


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        (drops_a_result, "The result of doubled is not being used. it changes nothing"),
        (drops_an_advance, "The result of tl.advance is not being used"),
    ],
)
def test_a_result_that_must_be_used(mode: str, kernel: Any, text: str) -> None:
    with pytest.raises(blockscope.CompilationError, match=text) as caught:
        kernel[(1,)](np.zeros(8, np.float32))
    if mode == "whole":
        assert "test_language.py" in str(caught.value)
    x = np.ones(1, np.float32)
    uses_the_result[(1,)](x)
    assert x[0] == 2


@blockscope.jit
def custom_reductions(x, out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    v = tl.load(x + i)
    largest = tl.reduce(v, 1, absolute_max)
    ones = tl.full((M, N), 1.0, tl.float32)
    mean, m2, n = tl.reduce((v, tl.zeros((M, N), tl.float32), ones), 1, welford)
    row = tl.arange(0, M)
    tl.store(out + row, largest)
    tl.store(out + M + row, mean)
    tl.store(out + 2 * M + row, m2 / n)
    tl.store(out + 3 * M, tl.reduce(v, None, absolute_max))
    kept = tl.reduce(v, 0, absolute_max, keep_dims=True)
    tl.static_assert(kept.shape[0] == 1)


def test_custom_reductions(mode: str) -> None:
    x = np.random.default_rng(1).standard_normal((8, 32)).astype(np.float32)
    out = np.zeros(25, np.float32)
    custom_reductions[(1,)](x, out, M=8, N=32)
    rows = x[np.arange(8), np.abs(x).argmax(1)]
    np.testing.assert_array_equal(out[:8], rows)
    np.testing.assert_allclose(out[8:16], x.mean(1), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(out[16:24], x.var(1), rtol=1e-5)
    assert out[24] == x.ravel()[np.abs(x).argmax()]


@blockscope.jit
def affine(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@blockscope.jit
def custom_scans(x, out, N: tl.constexpr, REVERSE: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    decay = tl.full((N,), 0.5, tl.float32)
    _, state = tl.associative_scan((decay, v), 0, affine, reverse=REVERSE)
    tl.store(out + i, state)
    tl.store(out + N + i, tl.associative_scan(v, 0, absolute_max, reverse=REVERSE))


@pytest.mark.parametrize("reverse", [False, True])
def test_custom_scans(mode: str, reverse: bool) -> None:
    x = np.random.default_rng(2).standard_normal(64).astype(np.float32)
    out = np.zeros(128, np.float32)
    custom_scans[(1,)](x, out, N=64, REVERSE=reverse)
    state, largest, expected = 0.0, 0.0, []
    for v in x[::-1] if reverse else x:
        state = state * 0.5 + v
        largest = v if abs(v) >= abs(largest) else largest
        expected.append((state, largest))
    states, largests = np.array(expected[::-1] if reverse else expected, np.float32).T
    np.testing.assert_allclose(out[:64], states, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(out[64:], largests)


@blockscope.jit
def add_with_zeros(a, b):
    return a + b + tl.zeros_like(a)


@blockscope.jit
def scan_with_a_block_made_inside(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.associative_scan(tl.load(x + i), 0, add_with_zeros))


def test_a_combine_function_may_make_blocks(mode: str) -> None:
    x, out = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    scan_with_a_block_made_inside[(1,)](x, out, N=32)
    np.testing.assert_array_equal(out, x.cumsum())


@blockscope.jit
def wrong_combine(a, b):
    return a, b


@blockscope.jit
def reduce_wrongly(x):
    tl.reduce(tl.load(x + tl.arange(0, 8)), 0, wrong_combine)


def test_combine_with_two_results(mode: str) -> None:
    with pytest.raises(Exception, match=r"combine function returned 2 values, expected 1"):
        reduce_wrongly[(1,)](np.zeros(8, np.float32))


# -- random numbers -------------------------------------------------------------------------------


def philox(seed: int, c0: np.ndarray, c1: np.ndarray, rounds: int = 10) -> list[np.ndarray]:
    """Philox-4x32 as the paper writes it."""
    mask = 0xFFFFFFFF
    k0, k1 = seed & mask, (seed >> 32) & mask
    zero = np.zeros_like(c0, np.uint64)
    c = [c0.astype(np.uint64) & mask, c1.astype(np.uint64) & mask, zero, zero]
    for _ in range(rounds):
        low = np.uint64(0xD2511F53) * c[0]
        high = np.uint64(0xCD9E8D57) * c[2]
        shift = np.uint64(32)
        c = [
            (high >> shift) ^ c[1] ^ np.uint64(k0),
            high & np.uint64(mask),
            (low >> shift) ^ c[3] ^ np.uint64(k1),
            low & np.uint64(mask),
        ]
        k0, k1 = (k0 + 0x9E3779B9) & mask, (k1 + 0xBB67AE85) & mask
    return [v.astype(np.uint32) for v in c]


@blockscope.jit
def random_numbers(bits, uniform, normal, seed, B: tl.constexpr):
    i = tl.arange(0, B)
    wide = i.to(tl.int64) * 0x123456789
    a, b, c, d = tl.randint4x(seed, wide)
    tl.store(bits + i, a)
    tl.store(bits + B + i, b)
    tl.store(bits + 2 * B + i, c)
    tl.store(bits + 3 * B + i, d)
    tl.store(bits + 4 * B + i, tl.randint(seed, i))
    tl.store(uniform + i, tl.rand(seed, i))
    tl.store(normal + i, tl.randn(seed, i))


@pytest.mark.parametrize("seed", [0, 1, 42, -7, 2**40 + 5, 2**32 - 1])
def test_random_numbers_are_philox(mode: str, seed: int) -> None:
    bits, uniform, normal = (
        np.zeros(5 * 256, np.uint32),
        np.zeros(256, np.float32),
        np.zeros(256, np.float32),
    )
    random_numbers[(1,)](bits, uniform, normal, seed, B=256)
    i = np.arange(256, dtype=np.uint64)
    wide = i * np.uint64(0x123456789)
    expected = philox(seed, wide, wide >> np.uint64(32))
    np.testing.assert_array_equal(bits[:1024], np.concatenate(expected))
    first, second, _, _ = philox(seed, i, np.zeros_like(i))
    np.testing.assert_array_equal(bits[1024:], first)

    def to_uniform(x: np.ndarray) -> np.ndarray:
        signed = x.view(np.int32)
        return np.where(signed < 0, -signed - 1, signed).astype(np.float32) * np.float32(
            4.6566127342e-10
        )

    u1, u2 = to_uniform(first), to_uniform(second)
    np.testing.assert_array_equal(uniform, u1)
    radius = np.sqrt(-2 * np.log(np.maximum(np.float32(1e-7), u1)))
    np.testing.assert_allclose(
        normal, radius * np.cos(np.float32(2 * np.pi) * u2), rtol=1e-4, atol=1e-5
    )


# -- libdevice ------------------------------------------------------------------------------------


@blockscope.jit
def call1(x, out, CALL: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, CALL(tl.load(x + i)))


@blockscope.jit
def call2(x, y, out, CALL: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, CALL(tl.load(x + i), tl.load(y + i)))


@blockscope.jit
def call3(x, y, z, out, CALL: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, CALL(tl.load(x + i), tl.load(y + i), tl.load(z + i)))


@blockscope.jit
def call4(x, y, z, w, out, CALL: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, CALL(tl.load(x + i), tl.load(y + i), tl.load(z + i), tl.load(w + i)))


_CALLS = {1: call1, 2: call2, 3: call3, 4: call4}
_NUMPY_NAME = {"fp32": "float32", "fp64": "float64"}
_OVERLOADS = [
    (name, types) for name, overloads in sorted(libdevice.FUNCTIONS.items()) for types in overloads
]


def call_libdevice(name: str, types: Any, inputs: list[np.ndarray]) -> np.ndarray:
    result = libdevice.FUNCTIONS[name][types][1]
    is_condition = name in ("isnan", "isinf", "finitef", "isfinited")
    kind = np.bool_ if is_condition else np.dtype(_NUMPY_NAME.get(result.name, result.name))
    out = np.zeros(64, kind)
    _CALLS[len(inputs)][(1,)](*inputs, out, CALL=getattr(libdevice, name), B=64)
    return out


def test_libdevice_is_whole() -> None:
    assert len(libdevice.FUNCTIONS) == 198


@pytest.mark.parametrize(
    ("name", "types"), _OVERLOADS, ids=[f"{n}-{'-'.join(map(str, t))}" for n, t in _OVERLOADS]
)
def test_libdevice_gives_the_same_in_both_modes(name: str, types: Any) -> None:
    random = np.random.default_rng(3)
    inputs = []
    for kind in types:
        values = (
            random.uniform(0.05, 0.95, 64) if kind.is_floating() else random.integers(0, 31, 64)
        )
        inputs.append(values.astype(_NUMPY_NAME.get(kind.name, kind.name)))
    whole = call_libdevice(name, types, inputs)
    blockscope.set_interpret_mode(True)
    try:
        stepped = call_libdevice(name, types, inputs)
    finally:
        blockscope.set_interpret_mode(False)
    np.testing.assert_array_equal(whole.view(np.uint8), stepped.view(np.uint8))
    python = getattr(math, {"pow": "pow"}.get(name, name), None)
    if name in ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log",
                "log2", "log10", "log1p", "expm1", "exp2", "sqrt", "cbrt", "erf", "erfc", "tgamma", "lgamma",
                "atan2", "pow", "fmod", "hypot", "copysign", "asinh", "atanh"):  # fmt: skip
        if python is None:
            older = {"tgamma": math.gamma, "cbrt": np.cbrt, "exp2": np.exp2}  # 3.10 lacks two
            python = older[name]
        expected = [python(*map(float, row)) for row in zip(*inputs)]
        rtol = 2e-6 if types[0].name == "fp32" else 1e-13
        np.testing.assert_allclose(whole, expected, rtol=rtol)


@blockscope.jit
def old_spellings(x, out):
    i = tl.arange(0, 16)
    v = tl.load(x + i)
    tl.store(out + i, tl.math.tanh(v) + tl.libdevice.tanh(v) + tl.extra.cuda.libdevice.pow(v, 2.0))


def test_old_spellings_of_libdevice(mode: str) -> None:
    x, out = np.linspace(0, 1, 16).astype(np.float32), np.zeros(16, np.float32)
    old_spellings[(1,)](x, out)
    np.testing.assert_allclose(out, 2 * np.tanh(x) + x**2, rtol=1e-6)


# -- constexpr, types, tuples -----------------------------------------------------------------------


def test_constexpr_is_arithmetic() -> None:
    a = tl.constexpr(7)
    assert (a + 1).value == 8 and (1 + a).value == 8 and (a - 2).value == 5 and (10 - a).value == 3
    assert (
        (a * 2).value == 14 and (a // 2).value == 3 and (a % 4).value == 3 and (2**a).value == 128
    )
    assert (a / 2).value == 3.5 and (-a).value == -7 and (~a).value == -8 and (a << 1).value == 14
    assert (a & 3).value == 3 and (a | 8).value == 15 and (a ^ 1).value == 6 and (a >> 1).value == 3
    assert (a < 8).value is True and (a == 7).value is True and (a != 7).value is False
    assert tl.constexpr(a).value == 7 and {a: 1}[tl.constexpr(7)] == 1 and hash(a) == hash(7)
    assert f"{a}" == "7" and repr(a) == "constexpr[7]" and list(range(a)) == list(range(7))
    assert tl.constexpr("ab")[0].value == "a" and len(tl.constexpr((1, 2))) == 2
    assert bool(tl.constexpr(0)) is False and tl.constexpr(None).value is None


def test_dtypes_say_what_they_are() -> None:
    assert repr(tl.float32) == "triton.language.float32" and str(tl.float32) == "fp32"
    assert tl.float32 is tl.dtype("fp32") and tl.bfloat16.name == "bf16"
    assert tl.int1.is_int_unsigned() and tl.int1.is_bool() and tl.int1.primitive_bitwidth == 1
    assert tl.int8.is_int_signed() and not tl.uint8.is_int_signed() and tl.uint8.is_int()
    assert tl.float16.fp_mantissa_width == 10 and tl.bfloat16.exponent_bias == 127
    assert tl.float8e4nv.is_fp8() and tl.float8e4nv.is_fp8e4nv() and not tl.float16.is_fp8()
    assert tl.int16.get_int_max_value() == 32767 and tl.uint8.get_int_min_value() == 0
    assert tl.float16.kind() == tl.dtype.KIND.FLOATING and tl.int1.kind() == tl.dtype.KIND.BOOLEAN
    pointer = tl.pointer_type(tl.float16)
    assert pointer.is_ptr() and pointer.element_ty == tl.float16 and str(pointer) == "pointer<fp16>"
    assert (
        tl.pi32_t == tl.pointer_type(tl.int32) and tl.pointer_type(tl.int8, const=True).is_const()
    )
    block = tl.block_type(tl.float32, [4, 8])
    assert block.is_block() and block.scalar is tl.float32 and block.numel == 32
    assert str(block) == "<['4', '8'], fp32>" and block == tl.block_type(tl.float32, (4, 8))


def test_tuples() -> None:
    t = tl.tuple((1, 2, 3))
    assert (
        t[0] == 1 and t[tl.constexpr(1)] == 2 and isinstance(t[1:], tl.tuple) and len(t + (4,)) == 4
    )
    assert bool(t == (1, 2, 3)) and not bool(t == (1, 2)) and len(t * 2) == 6


@builtin
def check_attributes(x: Any) -> None:
    assert x.dtype == tl.float32 and x.type == tl.block_type(tl.float32, [4, 8])
    assert [s.value for s in x.shape] == [4, 8] and x.numel.value == 32 and isinstance(x, tl.tensor)
    assert x.T.shape[0].value == 8 and x.handle is x


@blockscope.jit
def attributes(x):
    check_attributes(tl.load(x + tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8)[None, :]))


def test_attributes_of_tensors(mode: str) -> None:
    attributes[(1,)](np.zeros(32, np.float32))


def test_literals_have_the_smallest_type(mode: str) -> None:
    found: list[Any] = []

    @builtin
    def note(*values: Any) -> None:
        found.extend(tl.to_tensor(v).dtype for v in values)

    @blockscope.jit
    def literals(CALL: tl.constexpr):
        CALL(True, 1, -1, 2**31, -(2**31) - 1, 2**63, 1.5, 1e300, 1e-300)

    literals[(1,)](CALL=note)
    names = "int1 int32 int32 uint32 int64 uint64 fp32 fp64 fp64".split()
    assert [d.name for d in found] == names


_PROMOTIONS = {
    ("int8", "int16"): "int16",
    ("int8", "uint8"): "uint8",
    ("int32", "uint8"): "int32",
    ("uint32", "int64"): "int64",
    ("uint64", "int64"): "uint64",
    ("int1", "int8"): "int8",
    ("int64", "fp16"): "fp16",
    ("fp16", "bf16"): "fp16",
    ("bf16", "int32"): "fp32",
    ("bf16", "fp32"): "fp32",
    ("fp32", "fp64"): "fp64",
    ("fp8e5", "fp8e4nv"): "fp16",
    ("bf16", "fp8e5"): "fp32",
    ("fp16", "fp8e5"): "fp16",
}


@pytest.mark.parametrize(
    ("pair", "expected"),
    _PROMOTIONS.items(),
    ids=lambda v: "-".join(v) if isinstance(v, tuple) else v,
)
def test_promotion(pair: tuple[str, str], expected: str) -> None:
    found: list[Any] = []

    @builtin
    def note(a: Any, b: Any) -> None:
        for left, right in itertools.permutations((a, b)):
            x = tl.full((4,), 1, tl.dtype(left))
            y = tl.full((4,), 1, tl.dtype(right))
            found.append(tl.where(x == x, x, y).dtype.name)

    @blockscope.jit
    def promote(CALL: tl.constexpr, A: tl.constexpr, B: tl.constexpr):
        CALL(A.value, B.value)

    promote[(1,)](CALL=note, A=pair[0], B=pair[1])
    assert found == [expected, expected]


@blockscope.jit
def prints(x):
    i = tl.arange(0, 4)
    tl.device_print("value", tl.load(x + i))
    tl.static_print("seen", i.shape[0])


def test_static_print(mode: str, capsys: pytest.CaptureFixture[str]) -> None:
    prints[(1,)](np.zeros(4, np.float32))
    assert "seen 4" in capsys.readouterr().out


@builtin
def look(x: Any) -> None:
    np.testing.assert_array_equal(x.numpy(), [0, 1, 2, 3])
    assert repr(x).startswith("int32[4]: [0 1 2 3]")
    half = x.to(tl.bfloat16) * 0.5
    assert half.numpy().astype(np.float32).tolist() == [0, 0.5, 1, 1.5] and "0.5" in repr(half)
    total = tl.sum(x)
    assert (
        int(total) == 6
        and float(total) == 6.0
        and bool(total)
        and list(range(total)) == list(range(6))
    )
    assert repr(tl.to_tensor(1.5)) == "fp32: 1.5" and "True" in repr(x > 2)
    with pytest.raises(ValueError, match=r"bool\(\) of a block of shape \[4\] is ambiguous"):
        bool(x > 0)


@blockscope.jit
def stepped():
    look(tl.arange(0, 4))


def test_values_in_step_mode() -> None:
    blockscope.set_interpret_mode(True)
    try:
        stepped[(1,)]()
    finally:
        blockscope.set_interpret_mode(False)


@blockscope.jit
def swizzled(out, M: tl.constexpr, N: tl.constexpr, G: tl.constexpr):
    for i in range(M):
        for j in range(N):
            new_i, new_j = tl.swizzle2d(i, j, M, N, G)
            tl.store(out + new_i * N + new_j, i * N + j)


def test_swizzle2d(mode: str) -> None:
    out = np.full((4, 4), -1, np.int32)
    swizzled[(1,)](out, M=4, N=4, G=2)
    expected = [[0, 2, 4, 6], [1, 3, 5, 7], [8, 10, 12, 14], [9, 11, 13, 15]]
    np.testing.assert_array_equal(out, expected)


@blockscope.jit
def factorial(x, N: tl.constexpr):
    if N == 0:
        return x
    else:
        return factorial(x * N, N - 1)


@blockscope.jit
def recursive(out, N: tl.constexpr):
    tl.store(out, factorial(1, N))


def test_a_function_that_calls_itself_over_a_constexpr(mode: str) -> None:
    out = np.zeros(2, np.int32)
    recursive[(1,)](out, N=5)

    @blockscope.jit
    def count_down(out, N: tl.constexpr):
        if N > 0:
            tl.store(out + 1, N)
            count_down(out, N - 1)

    count_down[(1,)](out, N=3)
    np.testing.assert_array_equal(out, [120, 1])


@blockscope.jit
def as_compilers_write(
    in_ptr0, in_ptr1, out_ptr0, xnumel, XBLOCK: tl.constexpr, RBLOCK: tl.constexpr
):
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    xmask = xindex < xnumel
    rbase = tl.arange(0, RBLOCK)[None, :]
    tmp0 = tl.load(
        in_ptr0 + (rbase + RBLOCK * xindex), xmask, eviction_policy="evict_last", other=0.0
    )
    tmp1 = tl.load(in_ptr1 + rbase, None).to(tl.float32)
    tmp2 = tmp0 * tmp1
    tmp3 = tl.full([XBLOCK, RBLOCK], 0.5, tl.float32)
    tmp4 = tl.where(xmask, tmp2 + tmp3, float("-inf"))
    tmp5 = tl.max(tl.broadcast_to(tmp4, [XBLOCK, RBLOCK]), 1)[:, None]
    tmp6 = tl.extra.libdevice.exp(tmp4 - tmp5)
    tmp7 = tl.sum(tl.where(xmask, tmp6, 0), 1)[:, None]
    tl.device_assert((xindex >= 0) | ~xmask, "index out of bounds")
    tl.store(out_ptr0 + xindex, tl.math.log(tmp7) + tmp5, xmask)


def test_kernel_as_compilers_write_it(mode: str) -> None:
    random = np.random.default_rng(5)
    x, w = (
        random.standard_normal((37, 64)).astype(np.float32),
        random.standard_normal(64).astype(np.float16),
    )
    out = np.zeros(37, np.float32)
    as_compilers_write[(5,)](x, w, out, 37, XBLOCK=8, RBLOCK=64)
    y = (x * w.astype(np.float32) + 0.5).astype(np.float64)
    np.testing.assert_allclose(out, np.log(np.exp(y).sum(1)), rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("i32", tl.int32),
        ("u1", tl.int1),
        ("u64", tl.uint64),
        ("bf16", tl.bfloat16),
        ("fp8e4nv", tl.float8e4nv),
        ("*fp16", tl.pointer_type(tl.float16)),
        ("*ki8", tl.pointer_type(tl.int8, const=True)),
        ("**i64", tl.pointer_type(tl.pointer_type(tl.int64))),
        (("i32", "*fp32"), tl.tuple_type([tl.int32, tl.pointer_type(tl.float32)])),
        (
            "tensordesc<fp16[16, 64]>",
            tl.tensor_descriptor_type(tl.block_type(tl.float16, [16, 64])),
        ),
    ],
)
def test_types_by_the_names_of_signatures(name: Any, type_: Any) -> None:
    assert tl.str_to_ty(name) == type_ == tl.core.str_to_ty(name, None)
    assert tl.str_to_ty("constexpr", 3) == tl.constexpr_type(3)
    with pytest.raises(ValueError, match="no element type is called 'i7'"):
        tl.str_to_ty("*i7")


def test_names_of_core_that_files_use() -> None:
    core = tl.core
    assert core._aggregate is blockscope.aggregate and core._constexpr_to_value is core.unwrap
    for value in (tl.constexpr(3), tl.tuple((1, 2))):
        assert isinstance(value, core.base_value) and not isinstance(value, core.base_type)
    assert isinstance(tl.pointer_type(tl.int8), core.base_type)
    assert core._unwrap_shape([tl.constexpr(4), 8]) == [4, 8] and core._wrap_axis(-1, 3) == 2
    assert core.validate_block_shape([tl.constexpr(4), 8]) == 32
    for shape, text in [([3], "power of 2"), ([1 << 11, 1 << 11], "maximum"), (["a"], "constexpr")]:
        with pytest.raises((TypeError, ValueError), match=text):
            core.validate_block_shape(shape)


@blockscope.jit
def constants_in_tuples(out, n, pair):
    tl.static_assert(n == 3)
    tl.static_assert(pair[1][0] == 4)
    tl.store(out + tl.arange(0, pair[1][0]), pair[0])


def test_a_constexpr_for_a_run_time_parameter_stays_constant(mode: str) -> None:
    for value in (7, 9):
        out = np.zeros(4, np.int32)
        constants_in_tuples[(1,)](out, tl.constexpr(3), (value, (tl.constexpr(4), None)))
        np.testing.assert_array_equal(out, value)


@blockscope.jit
def takes_two(out, three, one):
    a, b = three
    tl.store(out, a * 10 + b)


@blockscope.jit
def takes_too_many(out, three, one):
    a, b = one
    tl.store(out, a + b)


def test_values_without_a_name_are_left_out() -> None:
    out = np.zeros(1, np.int32)
    takes_two[(1,)](out, (7, 8, 9), (1,))
    assert out == 78
    with pytest.raises(blockscope.CompilationError, match="cannot unpack 1 values into 2 names"):
        takes_too_many[(1,)](out, (7, 8, 9), (1,))


class Corner(NamedTuple):
    x: Any
    y: Any


class Counted(NamedTuple):
    count: Any
    index: Any
    map: Any
    like: Any


@blockscope.jit
def reads_fields(out, info):
    first = info
    if info.count > 1:
        first = Counted(info.index, info.count, info.like, info.map)
    tl.store(out, first.count + 10 * first.index + 100 * first.map + 1000 * first.like)


def test_fields_may_have_the_names_of_methods(mode: str) -> None:
    out = np.zeros(1, np.int32)
    reads_fields[(1,)](out, Counted(2, 3, 4, 5))
    assert out[0] == 3 + 10 * 2 + 100 * 5 + 1000 * 4


@blockscope.jit
def has_no_field(out, corner):
    tl.store(out, corner.count)


def test_tuples_of_kernels_have_no_methods_of_python(mode: str) -> None:
    with pytest.raises(Exception, match="a tuple in a kernel has no attribute 'count'"):
        has_no_field[(1,)](np.zeros(1, np.int32), Corner(2, 3))


@blockscope.constexpr_function
def turned(corner):
    assert isinstance(corner, tuple)
    return Corner(corner.y, -corner.x)


@blockscope.jit
def turns(out):
    tl.static_assert(turned(Corner(2, 3)).x == 3)
    tl.store(out, turned(turned(Corner(2, 3))).x)


def test_constexpr_functions_take_and_give_named_tuples(mode: str) -> None:
    out = np.zeros(1, np.int32)
    turns[(1,)](out)
    assert out[0] == -2
