"""How much of a GPU a kernel can fill: the CTAs that fit one multiprocessor at a time.

``target`` is a row of ``_core.gpu.targets()``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Occupancy:
    """CTAs that fit, the share of the warps that they are, and what there is too little of."""

    ctas: int
    share: float
    limit: str


def occupancy(target: dict[str, Any], registers: int, warps: int, shared_bytes: int) -> Occupancy:
    """Return the occupancy of a kernel.

    Units: ``registers`` of one thread, ``warps`` and ``shared_bytes`` of one CTA.
    """
    unit = target["warp_unit"]  # registers are given to so many warps at a time
    fitting = target["registers"] // _registers_of_warp(target, registers) // unit * unit
    shared = target["shared_bytes"] + target["reserved_shared_bytes"]
    limits = {
        "warps": target["warps"] // warps,
        "CTAs": target["ctas"],
        "registers": fitting // warps,
        "shared memory": shared // (shared_bytes + target["reserved_shared_bytes"]),
    }
    limit = min(limits, key=lambda name: limits[name])
    return Occupancy(limits[limit], limits[limit] * warps / target["warps"], limit)


def registers_of_cta(target: dict[str, Any], registers: int, warps: int) -> int:
    """The registers that a CTA takes. Units: ``registers`` of one thread."""
    unit = target["warp_unit"]
    return _registers_of_warp(target, registers) * -(-warps // unit) * unit


def _registers_of_warp(target: dict[str, Any], registers: int) -> int:
    unit = target["register_unit"]
    return -(-max(registers, 1) * 32 // unit) * unit
