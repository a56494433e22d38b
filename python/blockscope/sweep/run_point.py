"""One point, checked by itself: a report of its own, and a limit of time."""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable
from typing import Any

from blockscope import checks
from blockscope.launch_file.time_limit import TooLate, at_most
from blockscope.sweep.result import Result

_MOST_FINDINGS = 20


def run_point(
    index: int,
    point: dict[str, Any],
    launch: Callable[[], None],
    names: list[str],
    options: dict[str, Any],
    seconds: float,
) -> Result:
    """``launch`` makes the arguments and launches. What the script prints is dropped: a thousand
    points would print it a thousand times."""
    begin = time.monotonic()
    state, failure = "passed", ""
    with contextlib.redirect_stdout(io.StringIO()):
        with checks.check(names, **{"max_findings": _MOST_FINDINGS, **options}) as report:
            try:
                with at_most(seconds):
                    launch()
            except TooLate:
                state = "late"
            except (Exception, SystemExit) as error:  # the script's way out is no end of the sweep
                state, failure = "failed", _said(error)
        findings = [each.data for each in report.findings]
    if findings and state != "late":
        state = "found"
    return Result(index, point, state, findings, failure, time.monotonic() - begin, report.launches)


def _said(error: BaseException) -> str:
    """The kind of error, and its text: of an error of the compiler the line that says what."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
