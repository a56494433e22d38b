"""How many programs of a kernel a GPU holds at a time, for checks of those that wait for others."""

from __future__ import annotations

from typing import Any

from blockscope.errors import TritonError
from blockscope.process_lock import loading
from blockscope.runtime.backends.backend import Request

_ARCH = "sm_90a"  # of the GPUs in interpreter/residency.h


def answer(launch: Any, request: Request) -> None:
    """Let a watched launch ask, at its end, how many programs a multiprocessor holds."""
    launch.answer_residency(lambda: _held(request))


def _held(request: Request) -> tuple[int, str] | None:
    """That number, and why; None where the kernel cannot be compiled for a GPU here."""
    with loading:
        from blockscope.runtime.backends.cuda.compile import held_by_multiprocessor
        from blockscope.runtime.backends.cuda.options import parse_options
    try:
        options = parse_options(request.options)
        return held_by_multiprocessor(request.fn, request.arguments, options, _ARCH)
    except (TritonError, ValueError, OSError):
        return None  # no ptxas, or an op that GPUs lack
