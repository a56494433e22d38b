"""Functions that rearrange elements."""

from __future__ import annotations

import blockscope.language as tl
import numpy as np

from op_cases.case import (
    BOOL,
    MATRIX,
    NUMBERS,
    Block,
    OpCase,
    X,
    plain,
    wrapping,
)


def _interleaved(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.stack([x, y], -1).reshape(*x.shape[:-1], -1)


SWIZZLED = (5, 7, 2)  # rows, columns, rows of a group; the last group has one row


def _swizzled(i: np.ndarray, j: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The places in the order of the groups, each column by column; (i, j) says which is taken."""
    rows, columns, size = SWIZZLED
    places = [
        (row, column)
        for first in range(0, rows, size)
        for column in range(columns)
        for row in range(first, min(first + size, rows))
    ]
    taken = np.array([places[a * columns + b] for a, b in zip(i, j)], i.dtype)
    return taken[:, 0], taken[:, 1]


CASES: list[OpCase] = [
    OpCase("reshape", lambda x: tl.reshape(x, (8, 64)), [MATRIX], lambda x: x.reshape(8, 64)),
    OpCase(
        "reshape_method",
        lambda x: x.reshape(64, 8),
        [MATRIX],
        lambda x: x.reshape(64, 8),
        ("fp32",),
    ),
    OpCase("ravel", plain(tl.ravel), [MATRIX], np.ravel, ("int32", "fp16")),
    OpCase("trans", plain(tl.trans), [MATRIX], np.transpose, NUMBERS + BOOL),
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
        wrapping(lambda x, y: x[:, None] + y[None, :]),
    ),
    OpCase(
        "broadcast",
        lambda x, y: tl.broadcast(x[:, None], y[None, :])[0],
        [Block((8,)), Block((4,))],
        lambda x, y: np.broadcast_to(x[:, None], (8, 4)),
        ("fp32",),
    ),
    OpCase("join", plain(tl.join), [X, X], lambda x, y: np.stack([x, y], -1)),
    OpCase("split", plain(tl.split), [Block((64, 2))], lambda x: (x[:, 0], x[:, 1])),
    OpCase("interleave", plain(tl.interleave), [MATRIX, MATRIX], _interleaved),
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
    OpCase("flip", plain(tl.flip), [MATRIX], lambda x: x[:, ::-1]),
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
    OpCase("view", lambda x: tl.view(x, 8, 64), [MATRIX], lambda x: x.reshape(8, 64), ("fp32",)),
    OpCase(
        "swizzle2d",
        lambda i, j: tl.swizzle2d(i, j, *SWIZZLED),
        [Block(low=0, high=SWIZZLED[0] - 1), Block(low=0, high=SWIZZLED[1] - 1)],
        _swizzled,
        ("int32", "int64"),
    ),
    OpCase("zeros", lambda x: tl.zeros((8, 4), x.dtype), [X], lambda x: np.zeros((8, 4), x.dtype)),
    OpCase("zeros_like", plain(tl.zeros_like), [X], np.zeros_like),
    OpCase("full", lambda x: tl.full((64,), 3, x.dtype), [X], lambda x: np.full(64, 3, x.dtype)),
    OpCase(
        "item",
        lambda x: tl.sum(x, keep_dims=True).item(),
        [Block(low=-4, high=4, dtype="int32")],
        lambda x: x.sum(dtype=np.int32),
        ("int32",),
    ),
]
