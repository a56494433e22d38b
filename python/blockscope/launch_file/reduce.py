"""A failing launch made small: the same finding on a grid, sizes and values as small as they go.

Every change is tried: it stays when the finding is still there, at the same line of the kernel and
with the same hint, and nothing else is found. ``smaller`` says what is tried.
"""

from __future__ import annotations

import contextlib
import io
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from blockscope import checks, knobs
from blockscope.launch_file import smaller
from blockscope.launch_file.case import Case
from blockscope.launch_file.contents import Launch
from blockscope.launch_file.replay import settings_of
from blockscope.launch_file.time_limit import TooLate, at_most

_ROUNDS = 8
_MOST_FINDINGS = 20
_LEAST_SECONDS = 2.0
_LARGE = 64 << 20  # bytes


@dataclass(frozen=True)
class Target:
    """What has to stay."""

    code: str
    file: str
    line: int
    hint: str

    @classmethod
    def of(cls, finding: Any) -> Target:
        return cls(finding.code, finding.file, finding.line, _without_numbers(finding.get("hint")))

    @property
    def place(self) -> tuple[str, str, int]:
        return self.code, self.file, self.line


@dataclass
class Reduction:
    """Tries smaller cases until none is left, or the time is up."""

    launch: Launch
    names: dict[str, Any]  # for the lines of a case: the kernel, and what its arguments name
    checks: list[str]
    options: dict[str, Any]
    target: Target
    allowed: frozenset[tuple[str, str, int]]
    end: float
    seconds_of_launch: float = 0.0
    tries: int = 0
    failure: str | None = None  # of the launch itself
    _known: dict[str, bool] = field(default_factory=dict)

    def findings(self, case: Case) -> tuple[list[Any], str | None]:
        """What the checks find in a case, and the kind of error with which it ended."""
        space = {**self.names, "_data": case.data_of}
        failure = None
        with settings_of(self.launch), contextlib.redirect_stdout(io.StringIO()):
            if not self.launch.is_stepped:
                knobs.runtime.interpret = False
            options = {"max_findings": _MOST_FINDINGS, **self.options}
            with checks.check(self.checks, **options) as report:
                try:
                    with at_most(max(_LEAST_SECONDS, 3 * self.seconds_of_launch)):
                        exec("\n".join(case.lines(literal=False)), space)
                except (Exception, TooLate) as error:
                    failure = type(error).__name__
        return report.findings, failure

    def stays(self, case: Case) -> bool:
        """Whether the finding is still there, and nothing else."""
        key = repr((case.grid, case.lines(literal=False), [s.fill for s in case.storages]))
        if key not in self._known:
            self.tries += 1
            found, failure = self.findings(case)
            targets = {Target.of(each) for each in found}
            places = {each.place for each in targets}
            self._known[key] = (
                self.target in targets
                and places <= self.allowed
                and failure in (None, self.failure)
            )
        return self._known[key]

    @property
    def is_over(self) -> bool:
        return time.monotonic() > self.end

    def smallest(self, case: Case) -> Case:
        """The smallest case that was found."""
        if any(s.data is not None and s.data.size > _LARGE for s in case.storages):
            case = self._improved(case, smaller.fills)  # contents that are copied in each try
        for _ in range(_ROUNDS):
            before = case.lines(literal=False)
            for step in smaller.STEPS:
                case = self._improved(case, step)
            if case.lines(literal=False) == before or self.is_over:
                break
        return case

    def _improved(self, case: Case, step: Callable[[Case], Iterator[Iterator[Case]]]) -> Case:
        """``step`` gives places, each with its candidates, best ones first."""
        for index in range(1 << 16):
            candidates = next((c for i, c in enumerate(step(case)) if i == index), None)
            if candidates is None or self.is_over:
                return case
            for candidate in candidates:
                if self.is_over:
                    return case
                if candidate is not None and self.stays(candidate):
                    case = candidate
                    break
        return case


def _without_numbers(hint: Any) -> str:
    return re.sub(r"\d+", "N", hint) if isinstance(hint, str) else ""


def checks_for(code: str, names: list[str]) -> list[str]:
    """Those of some checks that find a code: fewer run faster."""
    rows = checks.table()
    finding = [row["name"] for row in rows if row["name"] in names and code in row["codes"]]
    return finding or names
