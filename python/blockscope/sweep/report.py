"""A sweep for people to read: counts, charts, and each cause with its first point in full."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence

from blockscope.checks import Finding
from blockscope.sweep.axes import point_text
from blockscope.sweep.causes import Cause, causes_of, where
from blockscope.sweep.chart import NOT_RUN, charts, left_out, text_of
from blockscope.sweep.plan import LAUNCH, Plan
from blockscope.sweep.result import Result

_MOST_CAUSES = 20


class SweepReport:
    """``results`` may be some of the points only. ``seconds`` are those of this run."""

    def __init__(self, plan: Plan, results: Sequence[Result], seconds: float, ran: int) -> None:
        self.plan = plan
        self.results = sorted(results, key=lambda result: result.index)
        self.seconds, self.ran = seconds, ran
        self.causes = causes_of(self.results)

    def head(self) -> str:
        """ "12288 points of n, BLOCK: 8192 passed, 4096 with findings"."""
        counts = Counter(result.state for result in self.results)
        words = [
            f"{counts[state]} {said}"
            for state, said in (
                ("passed", "passed"), ("found", "with findings"), ("failed", "failed"),
                ("late", "took too long"), ("lost", "ended their process"),
            )
            if counts[state]
        ]  # fmt: skip
        names = ", ".join(axis.name for axis in self.plan.axes) or "nothing varied"
        total, done = self.plan.count, len(self.results)
        points = f"{total} point{'s' if total != 1 else ''}"
        points = points if done == total else f"{done} of {points}"
        return f"{points} ({names}): {', '.join(words) or 'none was run'}"

    def text(self, width: int) -> str:
        lines = [self.head()]
        if self.ran:
            lines[0] += f"; {self.ran} in {self.seconds:.1f} s"
        lines += [*self.plan.said, *self._idle()]
        shown = list(charts(self.plan.axes, self.results, self.causes, max(20, width - 24)))
        for chart in shown if self.causes or len(self.results) < self.plan.count else []:
            lines += ["", *text_of(chart)]
        if shown and self.causes:
            rest = "not run" if any(
                cell.letter == NOT_RUN for chart in shown for _, row in chart.rows for cell in row
            ) else ""  # fmt: skip
            lines += ["", f"  . passed{f', blank {rest}' if rest else ''}; letters are below"]
            if more := left_out(self.plan.axes):
                lines.append(f"  {more} more charts are left out")
        for cause in self.causes[:_MOST_CAUSES]:
            lines += ["", *self._cause(cause)]
        if len(self.causes) > _MOST_CAUSES:
            lines += ["", f"{len(self.causes) - _MOST_CAUSES} more causes are left out"]
        return "\n".join(lines) + "\n"

    def _idle(self) -> list[str]:
        """Points that passed for nothing was checked."""
        idle = [r for r in self.results if r.state == "passed" and not r.launches]
        if not idle:
            return []
        count = f"{len(idle)} point{'s' if len(idle) != 1 else ''}"
        return [f"{count} launched no kernel, and passed for that; the first is "
                f"{point_text(idle[0].point) or 'the only one'}"]  # fmt: skip

    def points(self, cause: Cause) -> str:
        """ "40 points, where n >= 64"."""
        count = len(cause.results)
        inside = where(cause, self.plan.axes, self.results) if len(self.results) > 1 else ""
        return f"{count} point{'s' if count != 1 else ''}{inside and f', {inside}'}"

    def alone(self, cause: Cause) -> str:
        """The command that runs the first point of a cause alone."""
        request = self.plan.request
        words = ["blockscope", "sweep", "--checks", ",".join(request.checks)]
        for name, formula in request.set.items():
            words += ["--set", f"{name}={formula}"]
        words += ["--grid", request.grid] if request.grid is not None else []
        for name in request.keep:
            words += ["--keep", name]
        words += ["--fixed-sizes"] if request.fixed_sizes else []
        point = dict(cause.results[0].point)
        launch = point.pop(LAUNCH, request.launch) if not request.function else None
        words += ["--launch", str(launch)] if launch is not None else []
        targets = {axis.name: "=".join(axis.targets) for axis in self.plan.axes}
        if point:
            words += ["--vary", point_text({targets[n]: v for n, v in point.items()})]
        path = f"{request.path}:{request.function}" if request.function else request.path
        return shlex.join([*words, path])

    def _cause(self, cause: Cause) -> list[str]:
        first = cause.results[0]
        lines = [
            f"{cause.letter}  {cause.severity}: {cause.title}",
            f"   {self.points(cause)}",
        ]
        if cause.finding is not None:
            lines.append(f"   at {point_text(first.point)}:")
            lines += [f"   {line}" for line in Finding(cause.finding).text.splitlines()]
        else:
            lines.append(f"   first at {point_text(first.point)}")
        lines.append(f"   run it alone: {self.alone(cause)}")
        return lines
