"""``triton._internal_testing``: what tests of public libraries ask of it, where they run.

A kernel that is stepped has no target, as in Triton.
"""

from __future__ import annotations

from typing import Any

from blockscope.driver import driver
from blockscope.host import is_interpreting


def is_interpreter() -> bool:
    return is_interpreting()


def get_current_target() -> Any:
    return None if is_interpreting() else driver.active.get_current_target()


def _capability() -> int:
    """Of the GPU that kernels run on, as 90; 0 on the CPU and step by step."""
    target = get_current_target()
    return int(target.arch) if target is not None and target.backend == "cuda" else 0


def is_cuda() -> bool:
    return _capability() > 0


def is_cpu() -> bool:
    target = get_current_target()
    return target is not None and target.backend == "cpu"


def is_ampere_or_newer() -> bool:
    return _capability() >= 80


def is_hopper() -> bool:
    return _capability() // 10 == 9


def is_hopper_or_newer() -> bool:
    return _capability() >= 90


def is_blackwell() -> bool:
    return _capability() // 10 in (10, 11)


def is_blackwell_ultra() -> bool:
    return _capability() == 103


def is_rubin() -> bool:
    return _capability() == 107


def is_sm12x() -> bool:
    return _capability() // 10 == 12


def supports_tma(byval_only: bool = False) -> bool:
    """Descriptors run everywhere here, so those who ask for a GPU that has TMA mean the GPU."""
    return is_hopper_or_newer()


def _is_not_here() -> bool:
    """There is no back end for AMD's and Intel's GPUs."""
    return False


is_hip = is_hip_cdna = is_hip_cdna2 = is_hip_cdna3 = is_hip_cdna4 = is_hip_rdna = _is_not_here
is_hip_cdna3_or_newer = is_hip_gfx1250 = is_hip_rdna3 = is_hip_rdna4 = is_xpu = _is_not_here
