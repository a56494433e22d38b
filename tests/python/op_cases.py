"""Every operation of the language as a row: what it is called with, and what NumPy gives for it.

A row runs once per dtype in both CPU modes; the two must give the same bits, and those of the
reference: ``rtol`` is 0 unless a comment says why.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import blockscope.language as tl
import ml_dtypes
import numpy as np
from blockscope.language.core import builtin

#: Operations that the GPU back end does not have yet.
NOT_YET: list[str] = []

FLOATS = ("fp16", "bf16", "fp32", "fp64")
WIDE_FLOATS = ("fp32", "fp64")
FP8 = ("fp8e5", "fp8e4nv", "fp8e4b8", "fp8e5b16")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
NUMBERS = INTEGERS + FLOATS
BOOL = ("int1",)

_NUMPY = {
    "int1": np.bool_,
    "fp16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "fp32": np.float32,
    "fp64": np.float64,
    "fp8e5": ml_dtypes.float8_e5m2,
    "fp8e4nv": ml_dtypes.float8_e4m3fn,
    "fp8e4b8": ml_dtypes.float8_e4m3fnuz,
    "fp8e5b16": ml_dtypes.float8_e5m2fnuz,
}


def numpy_dtype(name: str) -> np.dtype:
    """Return NumPy's dtype of a name such as "fp32"."""
    return np.dtype(_NUMPY.get(name, name))


def dtype_of(array: np.ndarray) -> str:
    """Return the name of a NumPy dtype, "fp32"."""
    for name, kind in _NUMPY.items():
        if array.dtype == np.dtype(kind):
            return name
    return array.dtype.name


@dataclass
class Block:
    """One operand: its shape, its range, and its dtype where it is not that of the row."""

    shape: tuple[int, ...] = (128,)
    low: float | None = None
    high: float | None = None
    dtype: str | None = None
    edges: bool = True  # begin with infinities, NaN, extremes

    def make(self, dtype: str, random: np.random.Generator) -> np.ndarray:
        dtype = self.dtype or dtype
        kind, size = numpy_dtype(dtype), math.prod(self.shape)
        if dtype == "int1":
            return random.integers(0, 2, self.shape).astype(kind)
        if dtype in INTEGERS:
            info = np.iinfo(kind)
            low = info.min if self.low is None else max(int(self.low), info.min)
            high = info.max if self.high is None else min(int(self.high), info.max)
            values = random.integers(low, high, size, kind, endpoint=True)
            if self.low is None and self.edges:
                values[:4] = [info.min, info.max, 0, 1]
            return values.reshape(self.shape)
        if self.low is not None and self.high is not None:
            return random.uniform(self.low, self.high, self.shape).astype(kind)
        values = (random.standard_normal(size) * 4).astype(kind)
        if self.edges and dtype not in FP8:
            edges = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, float(ml_dtypes.finfo(kind).max)]
            values[: len(edges)] = np.array(edges[:size]).astype(kind)
        return values.reshape(self.shape)


@dataclass
class OpCase:
    """``call(*blocks)`` in a kernel against ``reference(*arrays)``; both may give tuples."""

    name: str
    call: Callable[..., Any]
    inputs: list[Block]
    reference: Callable[..., Any]
    dtypes: tuple[str, ...] = NUMBERS
    rtol: float = 0
    note: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        self.call = builtin(self.call) if callable(self.call) else self.call


X = Block()
SMALL = Block(low=-8, high=8)
MATRIX = Block((16, 32))


def _plain(call: Callable[..., Any]) -> Callable[..., Any]:
    """A new function, because ``builtin`` marks the one that it gets."""
    return lambda *args: call(*args)


# -- references -----------------------------------------------------------------------------------


def _wrapping(operation: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy with integers modulo 2^n and no complaints."""

    def run(*arrays: np.ndarray) -> Any:
        with np.errstate(all="ignore"):
            return operation(*arrays)

    return run


def _in_kind_of_first(operation: Callable[..., Any]) -> Callable[..., Any]:
    def run(*arrays: np.ndarray) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(operation(*arrays)).astype(arrays[0].dtype)

    return run


def _divide_truncating(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    exact = [abs(int(a)) // abs(int(b)) * (-1 if (a < 0) != (b < 0) else 1) for a, b in zip(x, y)]
    return np.array(exact, object).astype(x.dtype)


def _remainder_truncating(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    exact = [abs(int(a)) % abs(int(b)) * (-1 if a < 0 else 1) for a, b in zip(x, y)]
    return np.array(exact, object).astype(x.dtype)


def _true_divide(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        if x.dtype == np.float64:
            return x / y
        return x.astype(np.float32) / y.astype(np.float32)


def _extreme(which: Callable[..., Any]) -> Callable[..., Any]:
    def run(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        if x.dtype == ml_dtypes.bfloat16:
            x, y = x.astype(np.float32), y.astype(np.float32)
        return which(x, y)

    return run


def _clamp(x: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    if x.dtype == ml_dtypes.bfloat16:
        x, low, high = (v.astype(np.float32) for v in (x, low, high))
    return np.fmin(np.fmax(x, low), high)


def _widened(x: np.ndarray) -> np.ndarray:
    """What sum, max and min compute small types in (floats: max and min only)."""
    if x.dtype.kind in "fV" or x.dtype == ml_dtypes.bfloat16:
        return x.astype(np.float32) if x.dtype.itemsize < 4 else x
    if x.dtype.itemsize < 4:
        return x.astype(np.int32 if x.dtype.kind == "i" else np.uint32)
    return x


def _compared(x: np.ndarray) -> np.ndarray:
    """What max and min compute small types in."""
    wide = _widened(x)
    return wide.astype(np.int32) if x.dtype.itemsize < 4 and x.dtype.kind == "u" else wide


def by_halves(x: np.ndarray, axis: int, combine: Callable[..., Any]) -> np.ndarray:
    """Reduce in the documented order: element i with i + n/2, then with i + n/4, ..."""
    x = np.moveaxis(x, axis, 0)
    while x.shape[0] > 1:
        half = x.shape[0] // 2
        x = combine(x[:half], x[half:])
    return x[0]


def _sum(axis: int) -> Callable[..., Any]:
    def run(x: np.ndarray) -> np.ndarray:
        wide = x if x.dtype.kind in "fV" or x.dtype == ml_dtypes.bfloat16 else _widened(x)
        with np.errstate(all="ignore"):
            return by_halves(wide, axis, lambda a, b: a + b)

    return run


def _running(operation: Callable[..., Any]) -> Callable[..., Any]:
    def run(x: np.ndarray) -> np.ndarray:
        is_small = x.dtype.kind in "iu" and x.dtype.itemsize < 4
        if is_small:
            x = _widened(x)
        if x.dtype == ml_dtypes.bfloat16:
            x = x.astype(np.float32)
        distance = 1  # the documented order: steps of 1, 2, 4, ...
        with np.errstate(all="ignore"):
            while distance < x.shape[0]:
                combined = operation(x[:-distance], x[distance:])
                x = np.concatenate([x[:distance], combined])
                distance *= 2
        return x

    return run


def _sorted(descending: bool) -> Callable[..., Any]:
    def run(x: np.ndarray) -> np.ndarray:
        result = np.sort(x, axis=-1)
        return result[..., ::-1] if descending else result

    return run


def _cast_to(name: str) -> Callable[..., Any]:
    def run(x: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return x.astype(numpy_dtype(name))

    return run


def _matmul(out: str | None) -> Callable[..., Any]:
    def run(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if a.dtype.kind in "iu":
            return a.astype(np.int32) @ b.astype(np.int32)
        kind = np.float64
        result = a.astype(kind) @ b.astype(kind)
        return result.astype(numpy_dtype(out or ("fp64" if a.dtype == np.float64 else "fp32")))

    return run


def _erf(x: np.ndarray) -> np.ndarray:
    return np.array([math.erf(v) for v in x.ravel()]).reshape(x.shape)


def _high_product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    bits = x.dtype.itemsize * 8
    mask = (1 << bits) - 1
    exact = [((int(a) & mask) * (int(b) & mask)) >> bits for a, b in zip(x, y)]
    return np.array(exact, np.uint64).astype(f"uint{bits}").view(x.dtype)


def _interleaved(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.stack([x, y], -1).reshape(*x.shape[:-1], -1)


# -- the rows -------------------------------------------------------------------------------------

_OPERATORS = [
    OpCase("add", lambda x, y: x + y, [X, X], _wrapping(np.add)),
    OpCase("sub", lambda x, y: x - y, [X, X], _wrapping(np.subtract)),
    OpCase("mul", lambda x, y: x * y, [X, X], _wrapping(np.multiply)),
    OpCase("tl_add", _plain(tl.add), [X, X], _wrapping(np.add), ("int32", "fp32")),
    OpCase("tl_sub", _plain(tl.sub), [X, X], _wrapping(np.subtract), ("int32", "fp32")),
    OpCase("tl_mul", _plain(tl.mul), [X, X], _wrapping(np.multiply), ("int32", "fp32")),
    OpCase("add_bool", lambda x, y: x + y, [X, X], np.logical_xor, BOOL),
    OpCase("sub_bool", lambda x, y: x - y, [X, X], np.logical_xor, BOOL),
    OpCase("mul_bool", lambda x, y: x * y, [X, X], np.logical_and, BOOL),
    OpCase("truediv", lambda x, y: x / y, [X, Block(low=1, high=100)], _true_divide),
    OpCase(
        "floordiv", lambda x, y: x // y, [X, Block(low=1, high=100)], _divide_truncating, INTEGERS
    ),
    OpCase(
        "floordiv_negative",
        lambda x, y: x // y,
        [Block(low=-100, high=100), Block(low=-7, high=-2)],
        _divide_truncating,
        SIGNED,
    ),
    OpCase("floordiv_zero", lambda x: x // (x - x), [X], np.zeros_like, INTEGERS),
    OpCase("mod_zero", lambda x: x % (x - x), [X], np.zeros_like, INTEGERS),
    OpCase(
        "floordiv_minus_one",
        lambda x: x // tl.full((128,), -1, x.dtype),
        [X],
        _wrapping(np.negative),
        SIGNED,
    ),
    OpCase("lshift_width", lambda x: x << x.dtype.int_bitwidth, [X], np.zeros_like, INTEGERS),
    OpCase(
        "rshift_width",
        lambda x: x >> x.dtype.int_bitwidth,
        [X],
        lambda x: (-(x < 0).astype(np.int8)).astype(x.dtype),
        INTEGERS,
    ),
    OpCase("mod", lambda x, y: x % y, [X, Block(low=1, high=100)], _remainder_truncating, INTEGERS),
    OpCase(
        "mod_negative",
        lambda x, y: x % y,
        [Block(low=-100, high=100), Block(low=-7, high=-2)],
        _remainder_truncating,
        SIGNED,
    ),
    OpCase(
        "mod_float",
        lambda x, y: x % y,
        [X, Block(low=0.5, high=9)],
        _wrapping(np.fmod),
        WIDE_FLOATS,
    ),
    OpCase("neg", lambda x: -x, [X], _wrapping(np.negative)),
    OpCase("pos", lambda x: +x, [X], lambda x: x),
    OpCase("and", lambda x, y: x & y, [X, X], np.bitwise_and, INTEGERS + BOOL),
    OpCase("or", lambda x, y: x | y, [X, X], np.bitwise_or, INTEGERS + BOOL),
    OpCase("xor", lambda x, y: x ^ y, [X, X], np.bitwise_xor, INTEGERS + BOOL),
    OpCase("invert", lambda x: ~x, [X], np.invert, INTEGERS + BOOL),
    OpCase("lshift", lambda x, y: x << y, [X, Block(low=0, high=7)], np.left_shift, INTEGERS),
    OpCase("rshift", lambda x, y: x >> y, [X, Block(low=0, high=7)], np.right_shift, INTEGERS),
    OpCase("eq", lambda x, y: x == y, [SMALL, SMALL], _wrapping(np.equal), NUMBERS + BOOL),
    OpCase("ne", lambda x, y: x != y, [X, X], _wrapping(np.not_equal), NUMBERS + BOOL),
    OpCase("lt", lambda x, y: x < y, [X, X], _wrapping(np.less), NUMBERS + BOOL),
    OpCase("le", lambda x, y: x <= y, [X, X], _wrapping(np.less_equal), NUMBERS + BOOL),
    OpCase("gt", lambda x, y: x > y, [X, X], _wrapping(np.greater), NUMBERS + BOOL),
    OpCase("ge", lambda x, y: x >= y, [X, X], _wrapping(np.greater_equal), NUMBERS + BOOL),
    OpCase("add_number", lambda x: x + 3, [X], _in_kind_of_first(lambda x: x + x.dtype.type(3))),
    OpCase(
        "number_sub", lambda x: 100 - x, [X], _in_kind_of_first(lambda x: x.dtype.type(100) - x)
    ),
    OpCase(
        "logical_and",
        lambda x, y: x.logical_and(y),
        [SMALL, SMALL],
        np.logical_and,
        INTEGERS + BOOL,
    ),
    OpCase(
        "logical_or", lambda x, y: x.logical_or(y), [SMALL, SMALL], np.logical_or, INTEGERS + BOOL
    ),
    OpCase("logical_not", lambda x: x.logical_not(), [SMALL], np.logical_not, INTEGERS + BOOL),
]

_ELEMENTWISE = [
    OpCase("minimum", _plain(tl.minimum), [X, Block(edges=False)], _extreme(np.fmin)),
    OpCase("maximum", _plain(tl.maximum), [X, Block(edges=False)], _extreme(np.fmax)),
    OpCase(
        "minimum_nan",
        lambda x, y: tl.minimum(x, y, tl.PropagateNan.ALL),
        [X, Block(edges=False)],
        _extreme(np.minimum),
        FLOATS,
    ),
    OpCase(
        "maximum_nan",
        lambda x, y: tl.maximum(x, y, tl.PropagateNan.ALL),
        [X, Block(edges=False)],
        _extreme(np.maximum),
        FLOATS,
    ),
    OpCase(
        "clamp",
        _plain(tl.clamp),
        [Block(edges=False), Block(low=-2, high=-1), Block(low=0, high=1)],
        _clamp,
        FLOATS,
    ),
    OpCase(
        "clamp_numbers",
        lambda x: tl.clamp(x, 2, 50),
        [X],
        lambda x: np.minimum(np.maximum(x, x.dtype.type(2)), x.dtype.type(50)),
        INTEGERS,
    ),
    OpCase(
        "clamp_half",
        lambda x: tl.clamp(x, 0.0, 1.0),
        [Block(edges=False)],
        lambda x: np.clip(x, np.float16(0), np.float16(1)),
        ("fp16",),
    ),
    OpCase("where", _plain(tl.where), [Block(dtype="int1"), X, X], np.where, NUMBERS),
    OpCase("abs", _plain(tl.abs), [X], _wrapping(np.abs)),
    OpCase(
        "cdiv",
        _plain(tl.cdiv),
        [Block(low=0, high=90), Block(low=1, high=9)],
        lambda x, y: -(-x.astype(np.int64) // y.astype(np.int64)).astype(x.dtype),
        ("int32", "int64"),
    ),
    OpCase("fdiv", _plain(tl.fdiv), [X, Block(low=1, high=9)], _true_divide, WIDE_FLOATS),
    OpCase("div_rn", _plain(tl.div_rn), [X, Block(low=1, high=9)], _true_divide, ("fp32",)),
    OpCase("sqrt_rn", _plain(tl.sqrt_rn), [X], _wrapping(np.sqrt), ("fp32",)),
    OpCase(
        "fma",
        _plain(tl.fma),
        [SMALL, SMALL, SMALL],
        lambda x, y, z: (x.astype(np.float64) * y + z).astype(x.dtype),
        ("fp32",),
    ),
    OpCase(
        "umulhi", _plain(tl.umulhi), [X, X], _high_product, ("int32", "uint32", "int64", "uint64")
    ),
]

POSITIVE = Block(low=0.01, high=50)
# The libraries' functions differ from NumPy's in the last bits.
_CLOSE = {"rtol": 1e-6}
_MATH = [
    OpCase("exp", _plain(tl.exp), [SMALL], np.exp, WIDE_FLOATS, **_CLOSE),
    OpCase("exp2", _plain(tl.exp2), [SMALL], np.exp2, WIDE_FLOATS, **_CLOSE),
    OpCase("log", _plain(tl.log), [POSITIVE], np.log, WIDE_FLOATS, **_CLOSE),
    OpCase("log2", _plain(tl.log2), [POSITIVE], np.log2, WIDE_FLOATS, **_CLOSE),
    OpCase("sin", _plain(tl.sin), [SMALL], np.sin, WIDE_FLOATS, **_CLOSE),
    OpCase("cos", _plain(tl.cos), [SMALL], np.cos, WIDE_FLOATS, **_CLOSE),
    OpCase("sqrt", _plain(tl.sqrt), [X], _wrapping(np.sqrt), WIDE_FLOATS),
    OpCase(
        "rsqrt",
        _plain(tl.rsqrt),
        [POSITIVE],
        lambda x: (1 / np.sqrt(x)).astype(x.dtype),
        WIDE_FLOATS,
        **_CLOSE,
    ),
    OpCase(
        "erf", _plain(tl.erf), [SMALL], lambda x: _erf(x).astype(x.dtype), WIDE_FLOATS, **_CLOSE
    ),
    OpCase("floor", _plain(tl.floor), [X], np.floor, WIDE_FLOATS),
    OpCase("ceil", _plain(tl.ceil), [X], np.ceil, WIDE_FLOATS),
    OpCase(
        "sigmoid",
        _plain(tl.sigmoid),
        [SMALL],
        lambda x: (1 / (1 + np.exp(-x))).astype(x.dtype),
        WIDE_FLOATS,
        **_CLOSE,
    ),
    OpCase(
        "softmax",
        _plain(tl.softmax),
        [SMALL],
        lambda x: (np.exp(x - x.max()) / np.exp(x - x.max()).sum()).astype(x.dtype),
        WIDE_FLOATS,
        rtol=2e-6,
    ),
    OpCase(
        "softmax_axis",
        lambda x: tl.softmax(x, axis=-1),
        [Block((8, 32), -8, 8)],
        lambda x: (
            np.exp(x - x.max(1, keepdims=True))
            / np.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True)
        ).astype(x.dtype),
        WIDE_FLOATS,
        rtol=2e-6,
    ),
]

_CASTS = (
    [
        OpCase(
            f"cast_{name}",
            (lambda name: lambda x: x.to(tl.dtype(name)))(name),
            [Block(edges=False)],
            _cast_to(name),
            NUMBERS + BOOL if name in FLOATS else INTEGERS + BOOL,
        )
        for name in NUMBERS
    ]
    + [
        OpCase(
            f"cast_{name}",
            (lambda name: lambda x: x.to(tl.dtype(name)))(name),
            [Block(low=-200, high=200)],
            _cast_to(name),
            ("fp32", "fp16", "bf16"),
        )
        for name in FP8
    ]
    + [
        OpCase("cast_int1", lambda x: x.to(tl.int1), [SMALL], lambda x: x != 0, NUMBERS),
        OpCase("cast_from_fp8", lambda x: x.to(tl.float32), [X], _cast_to("fp32"), FP8),
        OpCase(
            "cast_float_to_int",
            lambda x: x.to(tl.int32),
            [Block(low=-1000, high=1000)],
            _cast_to("int32"),
            FLOATS,
        ),
        OpCase(
            "cast_saturates",
            lambda x: x.to(tl.int32),
            [Block(low=3e9, high=9e9)],
            lambda x: np.full(x.shape, 2**31 - 1, np.int32),
            WIDE_FLOATS,
        ),
        # As the hardware does: 0, but the smallest integer where 64 bits take part.
        OpCase(
            "cast_nan_to_int",
            lambda x: (x * float("nan")).to(tl.int32),
            [SMALL],
            lambda x: np.full(x.shape, 0 if x.dtype == np.float32 else -(2**31), np.int32),
            WIDE_FLOATS,
        ),
        OpCase(
            "bitcast",
            lambda x: x.to(tl.int32, bitcast=True),
            [X],
            lambda x: x.view(np.int32),
            ("fp32", "uint32", "int32"),
        ),
        OpCase(
            "bitcast_16",
            lambda x: x.to(tl.int16, bitcast=True),
            [X],
            lambda x: x.view(np.int16),
            ("fp16", "bf16", "uint16"),
        ),
        OpCase(
            "cast_rtz",
            lambda x: tl.cast(x, tl.bfloat16, fp_downcast_rounding="rtz"),
            [Block(edges=False)],
            lambda x: (x.view(np.uint32) >> 16).astype(np.uint16).view(ml_dtypes.bfloat16),
            ("fp32",),
        ),
    ]
)

_SHAPE = [
    OpCase("reshape", lambda x: tl.reshape(x, (8, 64)), [MATRIX], lambda x: x.reshape(8, 64)),
    OpCase(
        "reshape_method",
        lambda x: x.reshape(64, 8),
        [MATRIX],
        lambda x: x.reshape(64, 8),
        ("fp32",),
    ),
    OpCase("ravel", _plain(tl.ravel), [MATRIX], np.ravel, ("int32", "fp16")),
    OpCase("trans", _plain(tl.trans), [MATRIX], np.transpose, NUMBERS + BOOL),
    OpCase("T", lambda x: x.T, [MATRIX], np.transpose, ("fp32",)),
    OpCase(
        "permute",
        lambda x: tl.permute(x, (2, 0, 1)),
        [Block((4, 8, 16))],
        lambda x: x.transpose(2, 0, 1),
        ("int8", "fp16", "fp32", "int64"),
    ),
    OpCase(
        "trans_3d",
        lambda x: tl.trans(x, 1, 2, 0),
        [Block((4, 8, 16))],
        lambda x: x.transpose(1, 2, 0),
        ("fp32",),
    ),
    OpCase(
        "expand_dims", lambda x: tl.expand_dims(x, 1), [MATRIX], lambda x: x[:, None, :], ("fp32",)
    ),
    OpCase("index_none", lambda x: x[:, None], [X], lambda x: x[:, None], ("fp32", "int32")),
    OpCase(
        "broadcast_to",
        lambda x: tl.broadcast_to(x[None, :], (4, 128)),
        [X],
        lambda x: np.broadcast_to(x, (4, 128)),
        NUMBERS,
    ),
    OpCase(
        "broadcast_add",
        lambda x, y: x[:, None] + y[None, :],
        [Block((16,)), Block((32,))],
        _wrapping(lambda x, y: x[:, None] + y[None, :]),
    ),
    OpCase(
        "broadcast",
        lambda x, y: tl.broadcast(x[:, None], y[None, :])[0],
        [Block((8,)), Block((4,))],
        lambda x, y: np.broadcast_to(x[:, None], (8, 4)),
        ("fp32",),
    ),
    OpCase("join", _plain(tl.join), [X, X], lambda x, y: np.stack([x, y], -1)),
    OpCase("split", _plain(tl.split), [Block((64, 2))], lambda x: (x[:, 0], x[:, 1])),
    OpCase("interleave", _plain(tl.interleave), [MATRIX, MATRIX], _interleaved),
    OpCase(
        "cat",
        lambda x, y: tl.cat(x, y, can_reorder=True),
        [X, X],
        lambda x, y: np.concatenate([x, y]),
    ),
    OpCase(
        "cat_dim",
        lambda x, y: tl.cat(x, y, dim=1),
        [MATRIX, MATRIX],
        lambda x, y: np.concatenate([x, y], 1),
        ("fp32", "int16"),
    ),
    OpCase("flip", _plain(tl.flip), [MATRIX], lambda x: x[:, ::-1]),
    OpCase("flip_dim", lambda x: tl.flip(x, 0), [MATRIX], lambda x: x[::-1], ("fp32",)),
    OpCase(
        "gather",
        lambda x, i: tl.gather(x, i, 0),
        [MATRIX, Block((8, 32), 0, 15, "int32")],
        lambda x, i: np.take_along_axis(x, i, 0),
    ),
    OpCase(
        "gather_last",
        lambda x, i: tl.gather(x, i, 1),
        [MATRIX, Block((16, 64), 0, 31, "int32")],
        lambda x, i: np.take_along_axis(x, i, 1),
        ("fp32", "int8"),
    ),
    OpCase("squeeze", lambda x: tl.squeeze(x[None, :], 0), [X], lambda x: x, ("fp32",)),
    OpCase("unsqueeze", lambda x: tl.unsqueeze(x, 0), [X], lambda x: x[None], ("fp32",)),
    OpCase("zeros_like", _plain(tl.zeros_like), [X], np.zeros_like),
    OpCase("full", lambda x: tl.full((64,), 3, x.dtype), [X], lambda x: np.full(64, 3, x.dtype)),
    OpCase(
        "item",
        lambda x: tl.sum(x, keep_dims=True).item(),
        [Block(low=-4, high=4, dtype="int32")],
        lambda x: x.sum(dtype=np.int32),
        ("int32",),
    ),
]

_REDUCTIONS = [
    OpCase("sum", _plain(tl.sum), [SMALL], _sum(0)),
    OpCase("sum_rows", lambda x: tl.sum(x, 1), [Block((16, 32), -8, 8)], _sum(1)),
    OpCase("sum_columns", lambda x: tl.sum(x, 0), [Block((16, 32), -8, 8)], _sum(0)),
    OpCase(
        "sum_keep",
        lambda x: x.sum(1, keep_dims=True),
        [Block((16, 32), -8, 8)],
        lambda x: _sum(1)(x)[:, None],
        ("fp32", "int32"),
    ),
    OpCase(
        "sum_dtype",
        lambda x: tl.sum(x, 0, dtype=tl.float32),
        [SMALL],
        lambda x: _sum(0)(x.astype(np.float32)),
        ("fp16", "bf16", "int8"),
    ),
    OpCase("sum_bool", _plain(tl.sum), [X], lambda x: np.uint32(x.sum()), BOOL),
    OpCase("max", _plain(tl.max), [Block()], lambda x: np.fmax.reduce(_compared(x))),
    OpCase("min", _plain(tl.min), [Block()], lambda x: np.fmin.reduce(_compared(x))),
    OpCase("max_rows", lambda x: tl.max(x, 1), [MATRIX], lambda x: np.fmax.reduce(_compared(x), 1)),
    OpCase(
        "argmax",
        lambda x: tl.argmax(x, 1),
        [Block((16, 32), -9, 9)],
        lambda x: np.argmax(x, 1).astype(np.int32),
    ),
    OpCase(
        "argmin",
        lambda x: tl.argmin(x, 0),
        [Block((16, 32), -9, 9)],
        lambda x: np.argmin(x, 0).astype(np.int32),
    ),
    OpCase(
        "argmax_nan",
        lambda x: tl.argmax(x, 0),
        [Block()],
        lambda x: np.int32(np.nanargmax(x.astype(np.float64))),
        WIDE_FLOATS,
    ),
    OpCase(
        "max_with_index",
        lambda x: tl.max(x, 1, return_indices=True),
        [Block((16, 32), -99, 99)],
        lambda x: (x.max(1), np.argmax(x, 1).astype(np.int32)),
        ("fp32", "int32", "fp16"),
    ),
    OpCase("xor_sum", _plain(tl.xor_sum), [X], np.bitwise_xor.reduce, INTEGERS),
    OpCase("reduce_or", lambda x: tl.reduce_or(x, 0), [X], np.bitwise_or.reduce, INTEGERS),
    OpCase("cumsum", _plain(tl.cumsum), [SMALL], _running(np.add)),
    OpCase(
        "cumprod",
        _plain(tl.cumprod),
        [Block((16,), 1, 2)],
        _running(np.multiply),
        ("int8", "uint16", "int32", "int64", "fp32", "fp64"),
    ),
    OpCase(
        "cumsum_reverse",
        lambda x: tl.cumsum(x, 0, reverse=True),
        [SMALL],
        lambda x: _running(np.add)(x[::-1])[::-1],
        ("int32", "fp32"),
    ),
    OpCase("sort", _plain(tl.sort), [Block(edges=False)], _sorted(False)),
    OpCase(
        "sort_descending",
        lambda x: tl.sort(x, descending=True),
        [Block((8, 32), edges=False)],
        _sorted(True),
    ),
    OpCase(
        "topk",
        lambda x: tl.topk(x, 8),
        [Block((4, 32), edges=False)],
        lambda x: np.sort(x, -1)[:, ::-1][:, :8],
    ),
    OpCase(
        "histogram",
        lambda x: tl.histogram(x, 16),
        [Block(low=0, high=15)],
        lambda x: np.bincount(x, minlength=16).astype(np.int32),
        ("int32", "int64", "uint32"),
    ),
]

# Sums of products in another order than NumPy's; small integers in floats are exact.
_LINEAR = [
    OpCase(
        "dot",
        _plain(tl.dot),
        [Block((16, 32), -2, 2), Block((32, 16), -2, 2)],
        _matmul(None),
        ("fp32", "fp64"),
        rtol=1e-5,
    ),
    OpCase(
        "dot_half",
        _plain(tl.dot),
        [Block((16, 32), -2, 2), Block((32, 16), -2, 2)],
        _matmul(None),
        ("fp16", "bf16"),
        rtol=1e-5,
    ),
    OpCase(
        "dot_int8",
        _plain(tl.dot),
        [Block((16, 32), -9, 9), Block((32, 16), -9, 9)],
        _matmul(None),
        ("int8",),
    ),
    OpCase(
        "dot_fp16_out",
        lambda a, b: tl.dot(a, b, out_dtype=tl.float16),
        [Block((16, 16), -1, 1), Block((16, 16), -1, 1)],
        _matmul("fp16"),
        ("fp16",),
        rtol=2e-2,
    ),
    OpCase(
        "dot_batched",
        _plain(tl.dot),
        [Block((4, 16, 16), -2, 2), Block((4, 16, 16), -2, 2)],
        _matmul(None),
        ("fp32", "fp16"),
        rtol=1e-5,
    ),
    OpCase(
        "dot_4d",
        _plain(tl.dot),
        [Block((2, 2, 16, 16), -2, 2), Block((2, 2, 16, 16), -2, 2)],
        _matmul(None),
        ("fp32",),
        rtol=1e-5,
    ),
    OpCase(
        "dot_trans_b",
        lambda a, b: tl.dot(a, b, trans_b=True),
        [Block((16, 32), -2, 2), Block((16, 32), -2, 2)],
        lambda a, b: _matmul(None)(a, b.T),
        ("fp32",),
        rtol=1e-5,
    ),
    OpCase(
        "dot_tf32",
        lambda a, b: tl.dot(a, b, input_precision="tf32"),
        [Block((16, 32), -2, 2), Block((32, 16), -2, 2)],
        _matmul(None),
        ("fp32",),
        rtol=5e-3,
    ),
    OpCase(
        "dot_fp8",
        _plain(tl.dot),
        [Block((16, 32), -2, 2), Block((32, 16), -2, 2)],
        _matmul(None),
        ("fp8e5", "fp8e4nv"),
        rtol=1e-5,
    ),
]

_HINTS = [
    OpCase("multiple_of", lambda x: tl.multiple_of(x, 8), [X], lambda x: x, ("int32",)),
    OpCase("max_contiguous", lambda x: tl.max_contiguous(x, 8), [X], lambda x: x, ("int32",)),
    OpCase("max_constancy", lambda x: tl.max_constancy(x, [8]), [X], lambda x: x, ("int32",)),
    OpCase("expect_zero", lambda x: tl.expect_zero(x, x < 0), [X], lambda x: x, ("int32",)),
]

CASES: list[OpCase] = [
    *_OPERATORS,
    *_ELEMENTWISE,
    *_MATH,
    *_CASTS,
    *_SHAPE,
    *_REDUCTIONS,
    *_LINEAR,
    *_HINTS,
]
