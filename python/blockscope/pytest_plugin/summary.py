"""What a checked run of pytest says at its end.

Facts about a test travel as an attribute of its last report, which xdist carries from its workers
to the process that reports. There they come in any order, as workers end them; what is said is in
the order of the tests.
"""

from __future__ import annotations

import bisect
import os
from collections import Counter
from collections.abc import Iterable
from typing import Any, TypedDict

import pytest

from blockscope import report_html
from blockscope.baseline import Baseline
from blockscope.checks import GONE, NOT_NEEDED, Finding
from blockscope.cli import github_annotations, sarif
from blockscope.cli.explain import page_or_nothing
from blockscope.cli.sources import Sources

_ATTRIBUTE = "blockscope_facts"


class Facts(TypedDict):
    """Of one test: its ``place`` among those that run, how many ``launches``, how many of them on
    ``copies`` of GPU tensors; the ``findings`` as data, text, what allows them or nothing, and
    whether a baseline does; for each mark that allows a code, for each comment in a kernel, and for
    each entry of the ``baseline``, whether it was found; ``wrong_comments`` as sentences."""

    place: int
    launches: int
    copies: int
    findings: list[tuple[dict[str, Any], str, str, bool]]
    allow: dict[str, bool]
    comments: dict[str, bool]
    wrong_comments: list[str]
    baseline: dict[str, bool]


class Summary:
    """Counts the tests of a run; the hooks that print are those of the process that reports."""

    def __init__(self, config: pytest.Config, names: list[str], baseline: Baseline | None) -> None:
        self._names = names
        self._baseline = baseline
        self._entries: dict[str, bool] = {}  # of the baseline, each with whether it still occurs
        self._written = ""
        self._is_reporting = not hasattr(config, "workerinput")  # not a worker of xdist
        self._sources = Sources()
        self._files = {}  # to write, by kind
        for kind in ("sarif", "html") if self._is_reporting else ():
            if (path := config.getoption(f"blockscope_{kind}")) is not None:
                check_writable(kind, path)
                self._files[kind] = path
        self._annotates = config.getoption("blockscope_github")
        self._selected: Counter[str] = Counter()  # tests that will run, by mark
        self._places: dict[str, int] = {}  # of these tests; all workers of xdist have the same ones
        self._partial: set[str] = set()  # marks of tests that do not run, and "" for any such test
        self._ended_early: set[str] = set()  # tests that failed or were skipped
        self._tests: list[Facts] = []
        self._passed_with: Counter[str] = Counter()
        self._seen: Counter[str] = Counter()  # tests that have run to their end, by mark
        self._expected: dict[str, int] = {}  # so many have the mark; 0: this is not known
        self._matched: set[str] = set()
        self._comments: set[str] = set()  # of kernels that were launched
        self._wrong_comments: set[str] = set()
        # A part of the tests says nothing of a comment that another part may need.
        self._runs_all = config.args_source is not config.ArgsSource.ARGS

    # --- where tests run ---

    def will_run(self, test: str, marks: Iterable[str]) -> None:
        self._places[test] = len(self._places)
        self._selected.update(marks)

    def will_not_run(self, marks: Iterable[str]) -> None:
        self._partial.update(["", *marks])

    def send(self, report: pytest.TestReport, facts: Facts) -> None:
        """With the last report of a test to where it is printed."""
        of = {key: 0 if key in self._partial else self._selected[key] for key in facts["allow"]}
        told = {
            name: {k: v for k, v in facts[name].items() if v or not self._partial}
            for name in ("comments", "baseline")
        }
        place = self._places.get(report.nodeid, len(self._places))
        setattr(report, _ATTRIBUTE, {**facts, **told, "of": of, "place": place})

    # --- where reports are printed ---

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not self._is_reporting:
            return
        if not report.passed:
            self._ended_early.add(report.nodeid)
        facts = getattr(report, _ATTRIBUTE, None)
        if facts is None:
            return
        bisect.insort(self._tests, facts, key=lambda test: test["place"])
        for key, is_matched in facts["allow"].items():
            self._expected[key] = facts["of"][key]
            if is_matched:
                self._matched.add(key)
            elif report.nodeid not in self._ended_early:
                self._seen[key] += 1
        self._comments |= facts["comments"].keys()
        self._wrong_comments |= set(facts["wrong_comments"])
        self._matched |= {key for key, is_matched in facts["comments"].items() if is_matched}
        for key, occurs in facts["baseline"].items():
            self._entries[key] = occurs or self._entries.get(key, False)
        if report.nodeid not in self._ended_early:
            codes = {data["code"] for data, _, _, is_known in facts["findings"] if not is_known}
            self._passed_with.update(codes)

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        if self._is_reporting and self._baseline is not None and self._baseline.accepts_all:
            self._written = self._write_baseline(self._baseline)
        did_run = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        for kind, path in self._files.items():
            text = self._page() if kind == "html" else self._log(0 if did_run else int(exitstatus))
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)

    def _log(self, status: int) -> str:
        return sarif.document(self._findings(), self._sources, status, self._unchecked()) + "\n"

    def _page(self) -> str:
        found = self._findings()
        return report_html.page(
            report_html.Run(
                [each for each in found if not each.allowed],
                [each for each in found if each.allowed],
                facts={
                    "checks": ", ".join(self._names),
                    "tests": str(sum(test["launches"] > 0 for test in self._tests)),
                    "launches": str(sum(test["launches"] for test in self._tests)),
                },
                said=self._unchecked(),
                explain=page_or_nothing,
                is_checked=not self._unchecked(),
            )
        )

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        lines = self._lines(is_quiet=terminalreporter.config.option.verbose < 0)
        if lines:
            terminalreporter.section("Blockscope")
            for line in lines:
                terminalreporter.line(line)
        if self._annotates:
            failing = [each for each in self._findings() if not each.allowed]
            terminalreporter.ensure_newline()
            terminalreporter.write(
                github_annotations.commands(failing, self._sources, self._unchecked())
            )

    def _findings(self) -> list[Finding]:
        """Those of all tests, the same mistake once."""
        found: dict[Any, Finding] = {}
        for test in self._tests:
            for data, text, allowed, is_known in test["findings"]:
                finding = Finding(data, text, allowed=allowed, is_known=is_known)
                place = tuple(data[name] for name in ("code", "file", "line", "column"))
                if place not in found or (found[place].allowed and not allowed):
                    found[place] = finding
        return list(found.values())

    def _gone(self) -> list[str]:
        """The entries of the baseline that no longer occur, where all tests have run."""
        if not self._runs_all or self._ended_early:
            return []
        return [key for key, occurs in self._entries.items() if not occurs]

    def _write_baseline(self, baseline: Baseline) -> str:
        """Brings it up to date; gives what is to be said of it."""
        if unchecked := self._unchecked():
            return f"{unchecked[0]}; {baseline.name()} stays as it is"
        found = [data for t in self._tests for data, _, _, is_known in t["findings"] if is_known]
        return baseline.update(found, self._gone())

    def _unchecked(self) -> list[str]:
        if any(test["launches"] or test["findings"] for test in self._tests):
            return []
        return ["no test has launched a kernel of Blockscope: nothing was checked"]

    def _lines(self, *, is_quiet: bool) -> list[str]:
        lines = [] if self._written else self._unchecked()
        launches = sum(test["launches"] for test in self._tests)
        if launches and not is_quiet:
            tests = sum(test["launches"] > 0 for test in self._tests)
            lines.append(
                f"checked {_counted(launches, 'launch', 'launches')} of {_counted(tests, 'test')}: "
                f"{', '.join(self._names)}"
            )
        if self._passed_with:
            found = ", ".join(
                f"{code} ({count})" for code, count in sorted(self._passed_with.items())
            )
            lines.append(f"passed with findings, which 'pytest -rP' shows: {found}")
        if copies := sum(test["copies"] > 0 for test in self._tests):
            lines.append(
                f"{_counted(copies, 'test')} with tensors of a GPU: they were copied, and their "
                "kernels were checked on the CPU"
            )
        for key in dict.fromkeys(key for test in self._tests for key in test["allow"]):
            if key not in self._matched and 0 < self._expected[key] <= self._seen[key]:
                lines.append(f"{key} is not needed: none of its launches has this finding")
        lines += sorted(self._wrong_comments)
        if self._written:
            lines.append(self._written)
        elif self._baseline is not None:
            if known := sum(each.is_known for each in self._findings()):
                are = (
                    "finding that fails nothing is"
                    if known == 1
                    else "findings that fail nothing are"
                )
                lines.append(f"{known} {are} in {self._baseline.name()}")
            lines += [f"{key}{GONE}" for key in self._gone()]
        if self._runs_all and not self._ended_early:
            lines += [f"{key}{NOT_NEEDED}" for key in sorted(self._comments - self._matched)]
        return lines


def check_writable(option: str, path: str) -> None:
    """Before the tests run. Errors: UsageError."""
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path) or not os.path.isdir(folder):
        reason = "it is a folder" if os.path.isdir(path) else f"there is no folder '{folder}'"
        raise pytest.UsageError(f"--blockscope-{option}: '{path}' cannot be written: {reason}")
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise pytest.UsageError(f"--blockscope-{option}: '{path}' cannot be written: no permission")


def _counted(count: int, singular: str, plural: str = "") -> str:
    return f"{count} {singular if count == 1 else plural or singular + 's'}"
