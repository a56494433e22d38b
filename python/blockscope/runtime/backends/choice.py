"""Which backend a launch goes to (docs/architecture.md, "Where a kernel runs")."""

from __future__ import annotations

from typing import Any

from blockscope import checks
from blockscope.driver import driver
from blockscope.host import is_interpreting
from blockscope.process_lock import loading
from blockscope.runtime.backends.backend import Backend
from blockscope.runtime.backends.flat import FlatBackend
from blockscope.runtime.backends.step import StepBackend
from blockscope.runtime.memory.device import ANY_DEVICE

FLAT = FlatBackend()
STEP = StepBackend(FLAT)


def choose(fn: Any, bound: dict[str, Any], options: dict[str, Any], *, warmup: bool) -> Backend:
    """The backend for a launch with these arguments and options."""
    steps = is_interpreting() or fn.steps_always
    if warmup or not (steps or checks.active()):
        device = _gpu_of(bound, options, warmup)
        if device is not None:
            with loading:
                from blockscope.runtime.backends.cuda.backend import CudaBackend

            return CudaBackend(device)
    return STEP if steps and not warmup else FLAT


def _gpu_of(bound: dict[str, Any], options: dict[str, Any], warmup: bool) -> int | None:
    """The GPU that the launch goes to, or None for the CPU. Naming a target decides."""
    if warmup and options.get("arch"):
        return None if options["arch"] == "cpu" else ANY_DEVICE
    if not driver.is_gpu_active():
        return None
    with loading:
        from blockscope.runtime.backends.cuda import devices

    return devices.chosen_device(bound.values())
