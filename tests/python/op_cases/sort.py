"""Sorting and counting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import blockscope.language as tl
import numpy as np

from op_cases.case import (
    Block,
    OpCase,
    plain,
)


def _sorted(descending: bool) -> Callable[..., Any]:
    def run(x: np.ndarray) -> np.ndarray:
        result = np.sort(x, axis=-1)
        return result[..., ::-1] if descending else result

    return run


def _merge(x: Any) -> Any:
    """Makes two rising and falling halves, and merges them."""
    first, second = tl.split(tl.reshape(x, (32, 2)))
    return tl.bitonic_merge(tl.cat(tl.sort(first), tl.sort(second, descending=True), dim=0))


CASES: list[OpCase] = [
    OpCase("sort", plain(tl.sort), [Block(edges=False)], _sorted(False)),
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
    OpCase("bitonic_merge", _merge, [Block((64,), edges=False)], _sorted(False)),
    OpCase(
        "histogram",
        lambda x: tl.histogram(x, 16),
        [Block(low=0, high=15)],
        lambda x: np.bincount(x, minlength=16).astype(np.int32),
        ("int32", "int64", "uint32"),
    ),
]
