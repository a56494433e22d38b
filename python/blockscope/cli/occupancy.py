"""How much of a GPU a kernel can fill: the CTAs that fit one multiprocessor at a time."""

from __future__ import annotations

from dataclasses import dataclass

_REGISTERS = 65536
_REGISTERS_PER_WARP_UNIT = 256
_WARP_UNIT = 4  # registers are given to warps by groups of this size
_RESERVED_SHARED = 1024  # of each CTA, for the system


@dataclass(frozen=True)
class Multiprocessor:
    """What one multiprocessor of a target has (CUDA C Programming Guide, compute capabilities)."""

    warps: int
    ctas: int
    shared_bytes: int


_MULTIPROCESSORS = {
    80: Multiprocessor(64, 32, 164 << 10),
    86: Multiprocessor(48, 16, 100 << 10),
    87: Multiprocessor(48, 16, 164 << 10),
    89: Multiprocessor(48, 24, 100 << 10),
    90: Multiprocessor(64, 32, 228 << 10),
    100: Multiprocessor(64, 32, 228 << 10),
    103: Multiprocessor(64, 32, 228 << 10),
    120: Multiprocessor(48, 24, 100 << 10),
    121: Multiprocessor(48, 24, 100 << 10),
}


@dataclass(frozen=True)
class Occupancy:
    """CTAs that fit, the share of the warps that they are, and what there is too little of."""

    ctas: int
    share: float
    limit: str


def occupancy(capability: int, registers: int, warps: int, shared_bytes: int) -> Occupancy | None:
    """Return the occupancy of a kernel; None for a target that is not known.

    Units: ``registers`` of one thread, ``warps`` and ``shared_bytes`` of one CTA.
    """
    sm = _MULTIPROCESSORS.get(capability)
    if sm is None:
        return None
    warps_by_registers = _REGISTERS // _registers_of_warp(registers) // _WARP_UNIT * _WARP_UNIT
    limits = {
        "warps": sm.warps // warps,
        "CTAs": sm.ctas,
        "registers": warps_by_registers // warps,
        "shared memory": sm.shared_bytes // (shared_bytes + _RESERVED_SHARED),
    }
    limit = min(limits, key=lambda name: limits[name])
    return Occupancy(limits[limit], limits[limit] * warps / sm.warps, limit)


@dataclass(frozen=True)
class CtaLimits:
    """What one CTA of a target can have."""

    shared_bytes: int
    registers: int = _REGISTERS


def limits_of_cta(capability: int) -> CtaLimits | None:
    """The limits of a target; None for one that is not known."""
    sm = _MULTIPROCESSORS.get(capability)
    return None if sm is None else CtaLimits(sm.shared_bytes - _RESERVED_SHARED)


def registers_of_cta(registers: int, warps: int) -> int:
    """The registers that a CTA takes. Units: ``registers`` of one thread."""
    return _registers_of_warp(registers) * -(-warps // _WARP_UNIT) * _WARP_UNIT


def _registers_of_warp(registers: int) -> int:
    unit = _REGISTERS_PER_WARP_UNIT
    return -(-max(registers, 1) * 32 // unit) * unit
