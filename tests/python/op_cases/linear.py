"""Products of matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import blockscope.language as tl
import numpy as np

from op_cases.case import (
    Block,
    OpCase,
    numpy_dtype,
    plain,
)


def _matmul(out: str | None) -> Callable[..., Any]:
    def run(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if a.dtype.kind in "iu":
            return a.astype(np.int32) @ b.astype(np.int32)
        kind = np.float64
        result = a.astype(kind) @ b.astype(kind)
        return result.astype(numpy_dtype(out or ("fp64" if a.dtype == np.float64 else "fp32")))

    return run


def _dot_scaled(a: Any, scale: Any, b: Any) -> Any:
    names = {"fp8e4nv": "e4m3", "fp8e5": "e5m2", "bf16": "bf16", "fp16": "fp16"}
    return tl.dot_scaled(a, scale, "e2m1", b, None, names[b.dtype.name])


def _scaled_matmul(a: np.ndarray, scale: np.ndarray, b: np.ndarray) -> np.ndarray:
    codes = np.stack([a & 15, a >> 4], -1).reshape(a.shape[0], -1)
    fp4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    powers = np.repeat(np.exp2(scale.astype(np.float64) - 127), 32, 1)
    left = np.where(codes < 8, 1, -1) * fp4[codes % 8] * powers
    return (left @ b.astype(np.float64)).astype(np.float32)


# Sums of products in another order than NumPy's; small integers in floats are exact.
CASES: list[OpCase] = [
    OpCase(
        "dot",
        plain(tl.dot),
        [Block((16, 32), -2, 2), Block((32, 16), -2, 2)],
        _matmul(None),
        ("fp32", "fp64"),
        rtol=1e-5,
    ),
    OpCase(
        "dot_half",
        plain(tl.dot),
        [Block((16, 32), -2, 2), Block((32, 16), -2, 2)],
        _matmul(None),
        ("fp16", "bf16"),
        rtol=1e-5,
    ),
    OpCase(
        "dot_int8",
        plain(tl.dot),
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
        plain(tl.dot),
        [Block((4, 16, 16), -2, 2), Block((4, 16, 16), -2, 2)],
        _matmul(None),
        ("fp32", "fp16"),
        rtol=1e-5,
    ),
    OpCase(
        "dot_4d",
        plain(tl.dot),
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
        plain(tl.dot),
        [Block((16, 32), -2, 2), Block((32, 16), -2, 2)],
        _matmul(None),
        ("fp8e5", "fp8e4nv"),
        rtol=1e-5,
    ),
    OpCase(
        "dot_scaled",
        _dot_scaled,
        [
            Block((16, 32), 0, 255, "uint8"),
            Block((16, 2), 124, 130, "uint8"),
            Block((64, 32), -2, 2),
        ],
        _scaled_matmul,
        ("fp8e4nv", "fp8e5", "bf16", "fp16"),
        rtol=1e-5,
    ),
]
