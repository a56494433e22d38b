"""A row: the text of an assembly, its operands, and what NumPy gives for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

LETTERS = {1: "r", 2: "h", 4: "r", 8: "l"}


DTYPES: dict[str, Any] = {
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    "s8": np.int8, "s16": np.int16, "s32": np.int32, "s64": np.int64,
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
}  # fmt: skip


COUNT = 512


@dataclass(frozen=True)
class AsmCase:
    """A row. ``args`` and ``result`` are types of PTX; the constraints follow from them.

    ``reference`` takes the arrays of the arguments. ``ulps``: how far a result may be from it on
    the CPU, ``gpu_ulps`` on a GPU, in units of fp32 (None: only the same to a few percent).
    ``arch``: the first GPU that has the instruction; "" for those that all have.
    """

    name: str
    text: str
    args: tuple[str, ...]
    result: str
    reference: Callable[..., Any]
    ulps: float = 0
    gpu_ulps: float | None = 0
    arch: str = ""

    @property
    def constraints(self) -> str:
        def letter(dtype: str) -> str:
            return LETTERS[np.dtype(DTYPES[dtype]).itemsize]

        return ",".join(["=" + letter(self.result), *(letter(arg) for arg in self.args)])


def _floats(dtype: str) -> list[float]:
    info: Any = ml_dtypes.finfo(DTYPES[dtype])
    tiny, top = float(info.tiny), float(info.max)
    return [
        0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 6.0, 448.0, 449.0, 464.0, 465.0,
        -500.0, 57344.0, 61440.0, 65504.0, 65519.0, 65520.0, 1e-7, -1e-7, 1e-3, 0.1, 255.5, 300.0,
        -129.0, 2147483648.0, 4294967296.0, -2147483649.0, 1.0 + 2.0**-11, 1.0 + 3 * 2.0**-11,
        1.0 + 2.0**-12, 1.0 + 2.0**-8, 1.0 + 3 * 2.0**-8, tiny, -tiny, tiny / 2, tiny / 4,
        top, -top, np.inf, -np.inf, np.nan, 0.25, 0.75, 1.25, 1.75, 5.0, 7.0, 100.0,
    ]  # fmt: skip


def values(dtype: str, seed: int) -> Any:
    """An argument: the numbers at which instructions differ, then any bits; another order for each
    argument, so that all kinds of numbers meet."""
    kind = np.dtype(DTYPES[dtype])
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 256, COUNT * kind.itemsize, dtype=np.uint8).view(kind)
    if dtype in ("f16", "bf16", "f32", "f64"):
        with np.errstate(all="ignore"):
            special = np.array(_floats(dtype), np.float64).astype(kind)
        bits[: len(special)] = special
        small = rng.normal(0, 4, COUNT // 2).astype(kind)
        bits[COUNT // 2 :] = small
    else:
        info = np.iinfo(kind)
        near = [0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 100, 255, 256, 0x80, 0x8000]
        special = [x for x in near if x <= info.max] + [info.max, info.min, info.max - 1]
        bits[: len(special)] = special
    return np.roll(bits, 37 * seed)


def arguments(case: AsmCase) -> list[Any]:
    return [values(arg, seed) for seed, arg in enumerate(case.args)]


def same(case: AsmCase, found: Any, expected: Any, ulps: float | None) -> bool:
    """Whether results agree: bit for bit, all NaNs being equal, or within ``ulps``."""
    if case.result[0] in "us":
        return bool((found == expected).all())
    x, y = found.astype(np.float64), expected.astype(np.float64)
    nan = np.isnan(x) & np.isnan(y)
    if ulps == 0:
        return bool((nan | ((x == y) & (np.signbit(x) == np.signbit(y)))).all())
    with np.errstate(all="ignore"):
        unit = np.abs(np.spacing(expected.astype(np.float32)).astype(np.float64))
        allowed = 0.05 * np.abs(y) + 1e-3 if ulps is None else ulps * unit
        return bool((nan | (x == y) | (np.abs(x - y) <= allowed)).all())
