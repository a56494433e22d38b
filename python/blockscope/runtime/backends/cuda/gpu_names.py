"""Targets by their names: architectures, and the names that people know GPUs by.

Most GPUs are not in our table of devices (gpu_backend/gpu_device.cpp), which has those with peaks.
Names match as a whole: one that is only nearly known may be a GPU of another architecture.
"""

from __future__ import annotations

import re
from typing import Any

from blockscope import _core

_NAMES = {
    "sm_80": r"a30|a100|a800",
    "sm_86": r"a2|a10g?|a16|a40|(rtx)?a([1-6]000|[45]500)|rtxa[45]00|rtx30[5-9]0(ti)?",
    "sm_87": r"(agx|jetson)*orin(nano|nx)?",
    "sm_89": r"l4|l40|l40s|rtx([1-6]000|500|3500|4500|5880)ada|rtx40[5-9]0(ti)?(super)?d?",
    "sm_90a": r"h100|h200|h20|h800|gh200",
    "sm_100a": r"b100|b200|gb200",
    "sm_103a": r"b300|gb300",
    "sm_120a": r"rtx50[5-9]0(ti)?d?|rtxpro([1-6]000|500|4500)",
    "sm_121a": r"spark|dgxspark|gb10",
}

#: Words that do not change the architecture: who made it, its form and its memory.
_MORE = re.compile(
    r"nvidia|geforce|sxm\d?|pcie|nvl|\d+gb|hbm\d?e?|laptop|gpu|generation|blackwell|server|"
    r"workstation|edition|"
)

SHOWN = "a100, a10, rtx3090, orin, l4, l40s, rtx4090, h100, h200, b200, b300, rtx5090, spark"
"""For helps and errors."""


def arch_of(name: str) -> str:
    """The architecture of a GPU, "sm_89" for "RTX 4090"; empty where the name is unknown."""
    words = re.split(r"[\s_-]+", name.lower())
    word = "".join(word for word in words if not _MORE.fullmatch(word))
    return next((arch for arch, names in _NAMES.items() if re.fullmatch(names, word)), "")


def target_named(name: str) -> dict[str, Any]:
    """The row of ``_core.gpu.targets()`` for "sm_90", Triton's "sm90", "90" or a GPU's name.

    Errors: ValueError for any other name.
    """
    name = re.sub(r"^(?:sm)?(?=\d)", "sm_", name)
    try:
        return dict(_core.gpu.target_named(arch_of(name) or name))
    except ValueError as error:
        import difflib

        near = difflib.get_close_matches(name.lower(), SHOWN.split(", "), 1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise ValueError(f"{error}, or a GPU such as {SHOWN}{hint}") from None
