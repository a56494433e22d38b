"""What tensors hold at first. This file is a part of each reproducer."""

from typing import Any

import numpy as np


def data(dtype: Any, count: int, style: str, seed: int) -> Any:
    """Bits of any kind ("bits"), whole numbers from -4 to 4 or 0 to 8 ("small"), bits with the
    edges of the type among them ("edges"), numbers of a normal distribution ("normal"), whole
    numbers from 0 to 2 ("places")."""
    random = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        return random.integers(0, 2, count).astype(dtype)
    if style == "places":
        return random.integers(0, 3, count).astype(dtype)
    if style == "small":
        low = 0 if dtype.kind == "u" else -4
        return random.integers(low, low + 9, count).astype(dtype)
    if style == "normal" and dtype.kind not in "iu":
        return (random.standard_normal(count) * 4).astype(dtype)
    values = random.integers(0, 256, count * dtype.itemsize, np.uint8).view(dtype)
    if style == "edges":
        unsigned = values.view(f"u{dtype.itemsize}")
        top = 1 << (8 * dtype.itemsize - 1)
        edges = np.array([0, 1, 2, top - 1, top, top + 1, 2 * top - 1], object)
        chosen = random.integers(0, 3, count) == 0
        unsigned[chosen] = edges[random.integers(0, len(edges), int(chosen.sum()))].astype(
            unsigned.dtype
        )
    return values
