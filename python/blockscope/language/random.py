"""Counter-based random numbers: Philox-4x32-10, the same numbers as Triton's for a seed and offset.

Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011).
"""

from typing import Any

from blockscope._core import semantic as _semantic
from blockscope.language import core
from blockscope.language.core import builtin, to_tensor, unwrap
from blockscope.language.elementwise import add, maximum, mul, where
from blockscope.language.math import cos, log, sin, sqrt, umulhi

N_ROUNDS_DEFAULT = core.constexpr(10)

#: (key increments, round multipliers) by the bits of a counter
_CONSTANTS = {
    32: ((0x9E3779B9, 0xBB67AE85), (0xD2511F53, 0xCD9E8D57)),
    64: (
        (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B),
        (0xD2E7470EE14C6C93, 0xCA5A826395121157),
    ),
}


@builtin
def philox_impl(
    c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any, n_rounds: Any = N_ROUNDS_DEFAULT
) -> Any:
    """The rounds of Philox over four counters and two keys, all uint32 or all uint64."""
    bits = c0.dtype.primitive_bitwidth
    if c0.dtype not in (core.uint32, core.uint64):
        raise TypeError(f"tl.philox_impl: counters are {c0.dtype}, expected uint32 or uint64")
    (key_a, key_b), (round_a, round_b) = _CONSTANTS[bits]
    k0, k1 = to_tensor(k0), to_tensor(k1)
    for _ in range(int(unwrap(n_rounds))):
        b0, b2 = c0, c2
        c0 = umulhi(b2, round_b) ^ c1 ^ k0
        c2 = umulhi(b0, round_a) ^ c3 ^ k1
        c1 = mul(b2, round_b, sanitize_overflow=False)
        c3 = mul(b0, round_a, sanitize_overflow=False)
        k0 = add(k0, key_a, sanitize_overflow=False)
        k1 = add(k1, key_b, sanitize_overflow=False)
    return c0, c1, c2, c3


@builtin
def philox(seed: Any, c0: Any, c1: Any, c2: Any, c3: Any, n_rounds: Any = N_ROUNDS_DEFAULT) -> Any:
    """Four blocks of random bits for a 64-bit seed and four counters."""
    seed = to_tensor(seed).to(core.uint64)
    c0, c1, c2, c3 = (to_tensor(c) for c in (c0, c1, c2, c3))
    if c0.dtype.primitive_bitwidth == 32:
        kind = core.uint32
        high = ((seed >> 32) & 0xFFFFFFFF).to(kind)
        low = (seed & 0xFFFFFFFF).to(kind)
    else:
        kind = core.uint64
        high, low = _semantic.full([], 0, kind, "tl.philox"), seed
    c0, c1, c2, c3 = (c.to(kind, bitcast=True) for c in (c0, c1, c2, c3))
    return philox_impl(c0, c1, c2, c3, low, high, n_rounds)


@builtin
def randint4x(seed: Any, offset: Any, n_rounds: Any = N_ROUNDS_DEFAULT) -> Any:
    """Four blocks of random uint32 for one block of offsets: the cheapest way to many numbers."""
    offset = to_tensor(offset)
    low = offset.to(core.uint32)
    zero = low * 0
    high = (offset >> 32).to(core.uint32) if offset.dtype.primitive_bitwidth > 32 else zero
    return philox(seed, low, high, zero, zero, n_rounds)


@builtin
def randint(seed: Any, offset: Any, n_rounds: Any = N_ROUNDS_DEFAULT) -> Any:
    """A block of random uint32."""
    return randint4x(seed, offset, n_rounds)[0]


@builtin
def uint_to_uniform_float(x: Any) -> Any:
    """Random 32- or 64-bit integers as float32 in [0, 1)."""
    x = to_tensor(x)
    if x.dtype.primitive_bitwidth == 32:
        x, scale = x.to(core.int32, bitcast=True), 4.6566127342e-10
    else:
        x, scale = x.to(core.int64, bitcast=True), 1.0842020432385337e-19
    return where(x < 0, ~x, x) * scale


@builtin
def rand4x(seed: Any, offsets: Any, n_rounds: Any = N_ROUNDS_DEFAULT) -> Any:
    """Four blocks of random float32 in [0, 1)."""
    return tuple(uint_to_uniform_float(i) for i in randint4x(seed, offsets, n_rounds))


@builtin
def rand(seed: Any, offset: Any, n_rounds: Any = N_ROUNDS_DEFAULT) -> Any:
    """A block of random float32 in [0, 1)."""
    return uint_to_uniform_float(randint(seed, offset, n_rounds))


@builtin
def pair_uniform_to_normal(u1: Any, u2: Any) -> Any:
    """Two blocks of uniform numbers to two of normal ones (Box and Muller)."""
    u1 = maximum(1.0e-7, u1)
    theta = 6.283185307179586 * u2
    radius = sqrt(-2.0 * log(u1))
    return radius * cos(theta), radius * sin(theta)


@builtin
def randn4x(seed: Any, offset: Any, n_rounds: Any = N_ROUNDS_DEFAULT) -> Any:
    """Four blocks of random float32 of the standard normal distribution."""
    u1, u2, u3, u4 = rand4x(seed, offset, n_rounds)
    return (*pair_uniform_to_normal(u1, u2), *pair_uniform_to_normal(u3, u4))


@builtin
def randn(seed: Any, offset: Any, n_rounds: Any = N_ROUNDS_DEFAULT) -> Any:
    """A block of random float32 of the standard normal distribution."""
    i1, i2, _, _ = randint4x(seed, offset, n_rounds)
    return pair_uniform_to_normal(uint_to_uniform_float(i1), uint_to_uniform_float(i2))[0]


__all__ = [
    "pair_uniform_to_normal",
    "philox",
    "philox_impl",
    "rand",
    "rand4x",
    "randint",
    "randint4x",
    "randn",
    "randn4x",
    "uint_to_uniform_float",
]
