"""Recording of a script or of a launch file into a trace: for ``trace``, and for ``view``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from blockscope.cli.script import Runs
from blockscope.cli.usage import UsageError


@dataclass
class Recorded:
    """What became of a recording."""

    status: int  # of the script
    launches: int
    findings: Sequence[Any]

    def summary(self) -> str:
        """ "3 launches with 2 errors and 1 note"."""
        found = severities(self.findings)
        return f"{counted(self.launches, 'launch', 'launches')}{found and f' with {found}'}"


def record(
    script: Runs,
    output: str,
    names: list[str],
    options: dict[str, Any],
    *,
    values: bool = False,
    device: dict[str, Any] | None = None,
) -> Recorded:
    """Run it under the checks ``names`` and write what it launches to the trace ``output``; with
    ``values`` also what elements were, with a ``device`` what a GPU would do.

    Errors: UsageError when the trace cannot be written.
    """
    from blockscope import checks
    from blockscope.cli.predictions import predicted

    report: Any = None
    with ExitStack() as stack:
        if names:
            report = stack.enter_context(checks.check(names, **options))
        try:
            recording = stack.enter_context(checks.trace(output, values=values))
        except OSError as error:
            raise UsageError(str(error)) from None
        if device is not None:
            stack.enter_context(predicted(recording, device))
        status = script.run()
    return Recorded(status, recording.launches, report.findings if report else ())


def severities(findings: Sequence[Any]) -> str:
    """ "2 errors and 1 note"; empty where there are none."""
    counts = Counter(finding.severity for finding in findings)
    words = [counted(counts[each], each) for each in ("error", "warning", "note") if counts[each]]
    return ", ".join(words[:-1]) + (" and " if len(words) > 1 else "") + "".join(words[-1:])


def counted(count: int, singular: str, plural: str = "") -> str:
    return f"{count} {singular if count == 1 else plural or singular + 's'}"
