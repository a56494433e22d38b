"""How many programs of a kernel a GPU holds at a time, for checks of those that wait for others."""

from __future__ import annotations

from math import prod
from typing import Any

from blockscope import _core
from blockscope.errors import TritonError
from blockscope.frontend.argument import without_values
from blockscope.process_lock import loading
from blockscope.runtime.alignment import divisors
from blockscope.runtime.backends.backend import Request

_ARCH = "sm_90a"  # of the GPUs in interpreter/residency.h


def answer(launch: Any, request: Request) -> None:
    """Let a watched launch ask, at its end, how many programs a multiprocessor holds."""
    if prod(request.grid) <= _core.multiprocessors:
        return
    fn, options = request.fn, request.options
    # Sessions keep launches, which must not keep tensors.
    arguments, aligned = without_values(request.arguments), divisors(fn, request.arguments)

    def held() -> tuple[int, str] | None:
        """That number, and why; None where the kernel cannot be compiled for a GPU here."""
        with loading:
            from blockscope.runtime.backends.cuda.compile import held_by_multiprocessor
            from blockscope.runtime.backends.cuda.options import parse_options
        try:
            return held_by_multiprocessor(fn, arguments, aligned, parse_options(options), _ARCH)
        except (TritonError, ValueError, OSError):
            return None  # no ptxas, or an op that GPUs lack

    launch.answer_residency(held)
