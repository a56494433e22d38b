"""Counter-based random numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import blockscope.language as tl
import numpy as np

from op_cases.case import Block, OpCase, X, plain

#: Multipliers and key increments of Philox-4xW-10 (Salmon et al., 2011), by W.
_PHILOX = {
    32: (0xD2511F53, 0xCD9E8D57, 0x9E3779B9, 0xBB67AE85),
    64: (0xD2E7470EE14C6C93, 0xCA5A826395121157, 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B),
}


def philox(counter: list[int], key: list[int], bits: int, rounds: int = 10) -> list[int]:
    """The block of four random words, in exact integers."""
    mask = (1 << bits) - 1
    multiply_a, multiply_b, add_a, add_b = _PHILOX[bits]
    (c0, c1, c2, c3), (k0, k1) = counter, key
    for _ in range(rounds):
        a, b = multiply_a * c0, multiply_b * c2
        c0, c1, c2, c3 = (b >> bits) ^ c1 ^ k0, b & mask, (a >> bits) ^ c3 ^ k1, a & mask
        k0, k1 = (k0 + add_a) & mask, (k1 + add_b) & mask
    return [c0, c1, c2, c3]


SEED = 0x1234_5678_9ABC_DEF0


def _words(offsets: np.ndarray) -> list[np.ndarray]:
    """What randint4x gives for SEED."""
    key = [SEED & 0xFFFFFFFF, SEED >> 32]
    size = offsets.dtype.itemsize * 8
    rows = []
    for offset in offsets:
        counter = int(offset) & ((1 << size) - 1)
        rows.append(philox([counter & 0xFFFFFFFF, counter >> 32, 0, 0], key, 32))
    return list(np.array(rows, np.uint32).T)


def _uniform(words: np.ndarray) -> np.ndarray:
    signed = words.view(np.int32)
    folded = np.where(signed < 0, -signed - 1, signed)
    return folded.astype(np.float32) * np.float32(4.6566127342e-10)


def _normal(u1: np.ndarray, u2: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    radius = np.sqrt(-2 * np.log(np.maximum(u1, 1e-7).astype(np.float64)))
    angle = 2 * np.pi * u2.astype(np.float64)
    return (
        (radius * np.cos(angle)).astype(np.float32),
        (radius * np.sin(angle)).astype(np.float32),
    )


def _normals(offsets: np.ndarray) -> list[np.ndarray]:
    u1, u2, u3, u4 = (_uniform(words) for words in _words(offsets))
    return [*_normal(u1, u2), *_normal(u3, u4)]


def _rounds(bits: int) -> Callable[..., Any]:
    def run(c0: np.ndarray, c1: np.ndarray) -> tuple[np.ndarray, ...]:
        mask = (1 << bits) - 1
        rows = [
            philox([int(a), int(b), 1, 2], [3, 4], bits)
            for a, b in zip(c0 & c0.dtype.type(mask), c1)
        ]
        return tuple(np.array(rows, c0.dtype).T[:2])

    return run


def _impl(c0: Any, c1: Any) -> Any:
    one = c0 * 0 + 1
    return tl.philox_impl(c0, c1, one, one + 1, one + 2, one + 3)[:2]


_OFFSETS = ("int32", "uint32", "int64")
UNIFORM = Block(low=0, high=1)

CASES: list[OpCase] = [
    OpCase("philox_impl", _impl, [X, X], _rounds(32), ("uint32",)),
    OpCase("philox_impl_64", plain(_impl), [X, X], _rounds(64), ("uint64",)),
    OpCase(
        "philox",
        lambda x: tl.philox(SEED, x, x * 0, x * 0, x * 0)[:2],
        [X],
        lambda x: tuple(_words(x)[:2]),
        ("uint32",),
    ),
    OpCase("randint", lambda x: tl.randint(SEED, x), [X], lambda x: _words(x)[0], _OFFSETS),
    OpCase(
        "randint4x_first",
        lambda x: tl.randint4x(SEED, x)[:2],
        [X],
        lambda x: tuple(_words(x)[:2]),
        _OFFSETS,
    ),
    OpCase(
        "randint4x_last",
        lambda x: tl.randint4x(SEED, x)[2:],
        [X],
        lambda x: tuple(_words(x)[2:]),
        _OFFSETS,
    ),
    OpCase(
        "uint_to_uniform_float", plain(tl.uint_to_uniform_float), [X], _uniform, ("uint32", "int32")
    ),
    OpCase("rand", lambda x: tl.rand(SEED, x), [X], lambda x: _uniform(_words(x)[0]), _OFFSETS),
    OpCase(
        "rand4x",
        lambda x: tl.rand4x(SEED, x)[2:],
        [X],
        lambda x: tuple(_uniform(words) for words in _words(x)[2:]),
        _OFFSETS,
    ),
    # Logarithm and cosine in float32 against float64; near the zeros of the cosine only the
    # absolute difference is small.
    OpCase(
        "pair_uniform_to_normal",
        plain(tl.pair_uniform_to_normal),
        [UNIFORM, UNIFORM],
        _normal,
        ("fp32",),
        rtol=2e-6,
    ),
    OpCase("randn", lambda x: tl.randn(SEED, x), [X], lambda x: _normals(x)[0], _OFFSETS, 2e-6),
    OpCase(
        "randn4x",
        lambda x: tl.randn4x(SEED, x)[2:],
        [X],
        lambda x: tuple(_normals(x)[2:]),
        _OFFSETS,
        2e-6,
    ),
]
