"""Conversions between number formats, through kernels, against ml_dtypes and NumPy.

Every value of the 8- and 16-bit formats, and a million random ones of the wider ones.
"""

from __future__ import annotations

import blockscope
import blockscope.language as tl
import ml_dtypes
import numpy as np
import pytest

FLOATS = {
    "fp8e4nv": ml_dtypes.float8_e4m3fn,
    "fp8e4b8": ml_dtypes.float8_e4m3fnuz,
    "fp8e5": ml_dtypes.float8_e5m2,
    "fp8e5b16": ml_dtypes.float8_e5m2fnuz,
    "fp16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "fp32": np.float32,
    "fp64": np.float64,
}
INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
PAIRS = [(a, b) for a in FLOATS for b in FLOATS if a != b]
BLOCK = 32768


@blockscope.jit
def convert(
    x,
    y,
    SOURCE: tl.constexpr,
    TARGET: tl.constexpr,
    ROUNDING: tl.constexpr,
    STORED: tl.constexpr,
    BLOCK: tl.constexpr,
):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + offsets).to(SOURCE, bitcast=True)
    if ROUNDING is None:
        result = value.to(TARGET)
    else:
        result = value.to(TARGET, fp_downcast_rounding=ROUNDING)
    tl.store(y + offsets, result.to(STORED, bitcast=True))


def as_bits(array: np.ndarray) -> np.ndarray:
    return array.view(f"int{array.dtype.itemsize * 8}")


def run(values: np.ndarray, source: str, target: str, kind: np.dtype, rounding: str | None = None):
    padded = np.zeros(-(-len(values) // BLOCK) * BLOCK, values.dtype)
    padded[: len(values)] = values
    out = np.zeros(len(padded), f"int{kind.itemsize * 8}")
    stored = tl.dtype(out.dtype.name)
    grid = (len(padded) // BLOCK,)
    convert[grid](as_bits(padded), out, tl.dtype(source), tl.dtype(target), rounding, stored, BLOCK)
    return out.view(kind)[: len(values)]


def samples(name: str) -> np.ndarray:
    kind = np.dtype(FLOATS[name])
    bits = kind.itemsize * 8
    if bits <= 16:
        return np.arange(1 << bits, dtype=f"uint{bits}").view(kind)
    random = np.random.default_rng(bits)
    with np.errstate(all="ignore"):
        small = np.arange(1 << 16, dtype=np.uint16)
        every = [small.view(np.float16), small.view(ml_dtypes.bfloat16)]
        wide = random.standard_normal(10**6) * 10.0 ** random.uniform(-12, 8, 10**6)
        bit_patterns = random.integers(0, 1 << bits, 10**6, f"uint{bits}").view(kind)
        return np.concatenate([np.asarray(v).astype(kind) for v in [*every, wide, bit_patterns]])


def reference(values: np.ndarray, target: str) -> np.ndarray:
    """What ml_dtypes gives, but saturating in fp8 as NVIDIA's conversions do."""
    kind = np.dtype(FLOATS[target])
    # ml_dtypes goes from double to the small formats through float: only exact steps are asked.
    result = values.astype(kind)
    if target.startswith("fp8"):
        info = ml_dtypes.finfo(kind)
        wide = values.astype(np.float64)
        past = np.abs(wide) > float(info.max)
        limit = np.where(np.signbit(wide), -float(info.max), float(info.max)).astype(kind)
        result = np.where(past, limit, result)
    return result


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("source", "target"), PAIRS, ids=[f"{a}-{b}" for a, b in PAIRS])
def test_float_to_float(source: str, target: str) -> None:
    values = samples(source)
    if source == "fp64" and target not in ("fp32", "fp64"):
        # The reference rounds twice, through fp32; ours once. Take doubles that are floats.
        values = values.astype(np.float32).astype(np.float64)
    found = run(values, source, target, np.dtype(FLOATS[target]))
    expected = reference(values, target)
    both_nan = np.isnan(found.astype(np.float64)) & np.isnan(expected.astype(np.float64))
    same = as_bits(found) == as_bits(expected)
    wrong = np.flatnonzero(~(same | both_nan))
    assert not len(wrong), [(values[i], found[i], expected[i]) for i in wrong[:5]]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("target", ["fp8e4nv", "fp8e5", "fp16", "bf16", "fp32"])
def test_toward_zero(target: str) -> None:
    source = "fp64" if target == "fp32" else "fp32"
    values = samples(source)
    kind = np.dtype(FLOATS[target])
    found = run(values, source, target, kind, "rtz").astype(np.float64)
    wide = values.astype(np.float64)
    finite = np.isfinite(wide)
    largest = float(ml_dtypes.finfo(kind).max)
    assert np.all(np.abs(found[finite]) <= np.abs(wide[finite]))
    assert np.all(np.abs(found[finite]) <= largest)
    # The next value away from zero is past the source.
    inside = finite & (np.abs(wide) < largest)
    encodings = as_bits(np.abs(found[inside]).astype(kind))
    following = (encodings + 1).view(kind).astype(np.float64)
    assert np.all(following > np.abs(wide[inside]))
    assert np.array_equal(np.isnan(found), np.isnan(wide))


@pytest.mark.parametrize("source", INTS)
@pytest.mark.parametrize("target", list(FLOATS))
def test_int_to_float(source: str, target: str) -> None:
    kind = np.dtype(source)
    info = np.iinfo(kind)
    random = np.random.default_rng(1)
    if kind.itemsize <= 2:
        values = np.arange(info.min, info.max + 1).astype(kind)
    else:
        values = random.integers(info.min, info.max, 10**6, kind, endpoint=True)
        values >>= random.integers(0, kind.itemsize * 8, len(values)).astype(kind)
    if target not in ("fp32", "fp64"):  # the reference goes through fp32: only exact steps
        values = values[np.abs(values.astype(np.float64)) < 2**24]
    found = run(values, source, target, np.dtype(FLOATS[target]))
    exact = values if target in ("fp32", "fp64") else values.astype(np.float32)
    with np.errstate(all="ignore"):
        expected = reference(exact, target)
    assert np.array_equal(as_bits(found), as_bits(expected))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("source", ["fp16", "bf16", "fp32", "fp64"])
@pytest.mark.parametrize("target", INTS)
def test_float_to_int_saturates(source: str, target: str) -> None:
    """As PTX: clamped to the target; 8 bits through 16; NaN is 0, or the top bit at 64 bits."""
    values = samples(source)
    kind = np.dtype(target)
    through = {"int8": "int16", "uint8": "uint16"}.get(target, target)
    info = np.iinfo(through)
    wide = values.astype(np.float64)
    cut = np.trunc(np.where(np.isnan(wide), 0, wide))
    # Python integers are exact where a double of the limits is not.
    inside = (cut > float(info.min)) & (cut < float(info.max))
    expected = np.where(inside, cut, 0).astype(through)
    expected[~inside & (cut <= float(info.min))] = info.min
    expected[~inside & (cut >= float(info.max))] = info.max
    top_bit = kind.itemsize == 8 or source == "fp64"
    nan = (1 << (8 * np.dtype(through).itemsize - 1)) if top_bit else 0
    expected[np.isnan(wide)] = np.array(nan, f"u{through.lstrip('u')}").astype(through)
    found = run(values, source, target, kind)
    assert np.array_equal(found, expected.astype(kind))


def test_fp8e4b15_is_the_top_of_fp16() -> None:
    encodings = np.arange(256, dtype=np.uint8)
    found = run(encodings, "fp8e4b15", "fp32", np.dtype(np.float32))
    half = ((encodings & 0x80).astype(np.uint16) << 8) | ((encodings & 0x7F).astype(np.uint16) << 7)
    assert np.array_equal(found, half.view(np.float16).astype(np.float32))
    back = run(found, "fp32", "fp8e4b15", np.dtype(np.uint8))
    limited = np.where(encodings & 0x7F == 0x7F, encodings - 1, encodings)  # 1.75 is the limit
    assert np.array_equal(back, limited)


@blockscope.jit
def absolute(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i).to(tl.float8e4b15, bitcast=True)
    tl.store(out_ptr + i, tl.abs(x).to(tl.uint8, bitcast=True))


def test_fp8e4b15_loses_its_sign_by_its_bits(mode: str) -> None:
    encodings, found = np.arange(256, dtype=np.uint8), np.zeros(256, np.uint8)
    absolute[(1,)](encodings, found, BLOCK=256)
    assert np.array_equal(found, encodings & 0x7F)
