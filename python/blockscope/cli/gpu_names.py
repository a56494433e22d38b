"""GPUs by the names that people know them by, for those whose peaks are not in our table of
devices (gpu_backend/gpu_device.cpp)."""

from __future__ import annotations

import re

_NAMES = {
    "sm_80": r"a30|a100.*",
    "sm_86": r"a2|a10g?|a16|a40|(rtx)?a[2456]000|rtx30\d\d(ti)?",
    "sm_87": r"(agx|jetson)*orin(nano|nx)?",
    "sm_89": r"l4|l40|l40s|rtx[2456]000ada|rtx40\d\d(ti)?(super)?",
    "sm_90a": r"h100.*|h200.*|h20|h800|gh200",
    "sm_100a": r"b100|b200|gb200",
    "sm_103a": r"b300|gb300",
    "sm_120a": r"rtx50\d\d(ti)?|rtxpro\d000",
    "sm_121a": r"spark|dgxspark|gb10",
}

SHOWN = "a100, a10, rtx3090, orin, l4, l40s, rtx4090, h100, h200, b200, b300, rtx5090, spark"
"""For helps and errors."""


def arch_of(name: str) -> str:
    """The architecture of a GPU, "sm_89" for "RTX 4090"; empty where the name is unknown."""
    word = re.sub(r"[\s_-]|nvidia|geforce", "", name.lower())
    return next((arch for arch, names in _NAMES.items() if re.fullmatch(names, word)), "")
