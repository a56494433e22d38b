"""Runs each test as a checked session, and fails it on what is found.

The session of a test is open from before its fixtures are made until they are gone. What it finds
is raised behind the test's own code, so that xfail marks, ``-x`` and reports of other plugins treat
it as any failure.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Generator, Iterable
from contextlib import ExitStack, suppress
from typing import Any

import pytest

from blockscope import checks
from blockscope.errors import SanitizerError
from blockscope.pytest_plugin.marks import TAKES, Wanted, wanted_by
from blockscope.pytest_plugin.summary import Facts, Summary

_SECTION = "Blockscope report"
_Failed: Any = pytest.fail.Exception


class FindingsError(_Failed, SanitizerError):
    """Fails a test whose launches have findings of error severity."""

    def __init__(self, text: str, findings: list[checks.Finding]) -> None:
        _Failed.__init__(self, text, pytrace=False)
        self.findings = findings


class CheckedTest:
    """The session of one test; ``trace`` is the file to record it to, ``folder`` where its child
    processes say what they have found.

    Errors: ValueError for wrong options of checks.
    """

    def __init__(self, wanted: Wanted, trace: str | None, folder: str) -> None:
        self.wanted = wanted
        self.trace = trace
        self.has_failed = False
        self.raised: FindingsError | None = None  # behind the test's own code
        self._told: set[str] = set()  # findings that pytest shows already
        with ExitStack() as stack:
            self.report = stack.enter_context(checks.check(wanted.checks, **wanted.options))
            self._children = stack.enter_context(checks.checked_children(self.report, folder))
            if trace is not None:
                stack.enter_context(checks.trace(trace))
            self._stack = stack.pop_all()

    def close(self) -> None:
        of_children = self._children()
        self._children = lambda: of_children
        self._stack.close()
        if self.trace is not None and not self.has_failed:
            with suppress(FileNotFoundError):  # also that of an earlier run, which did fail
                os.unlink(self.trace)

    def findings(self) -> list[checks.Finding]:
        """All so far, those of child processes too, each with the mark or comment that allows
        it."""
        found = self.report.all_findings()
        for child in self._children():
            found += [*child["findings"], *child["known"]]
        for each in found:
            each.allowed = each.allowed or self.wanted.allow.get(each.code, "")
        return found

    def take_errors(self) -> FindingsError | None:
        """What has to fail the test and was not taken before."""
        new = self._take(lambda each: not each.allowed)
        return FindingsError(self._text(new), new) if new else None

    def must_fail(self) -> bool:
        """Whether ``raised`` is to be raised now."""
        self.raised = self.take_errors()
        return self.raised is not None

    def take_rest(self) -> str:
        """The report of what does not fail it and was not taken before, or nothing."""
        new = self._take(lambda each: not each.is_known, needs_error=False)
        return self._text(new, is_quiet=True) if new else ""

    def _take(
        self, is_wanted: Callable[[checks.Finding], bool], *, needs_error: bool = True
    ) -> list[checks.Finding]:
        new = [e for e in self.findings() if is_wanted(e) and _identity(e) not in self._told]
        if needs_error and not any(each.severity == "error" for each in new):
            return []
        self._told.update(_identity(each) for each in new)
        return new

    def _text(self, findings: list[checks.Finding], *, is_quiet: bool = False) -> str:
        """Their report; ``is_quiet`` where they fail no test, whose trace is not kept then."""
        parts = [
            each.text if each.child is None else f"in child process {each.child}:\n{each.text}"
            for each in findings
        ]
        ends = []
        allowed = {f"{each.code} is allowed: {each.allowed}" for each in findings if each.allowed}
        ends += sorted(allowed)
        if dropped := self.report.handle.dropped_causes():
            ends.append(f"further causes that are not shown: {dropped} (max_findings)")
        if self.report.launches_of_copies:
            ends.append("tensors of a GPU were copied: what was checked ran on the CPU")
        if self.trace is not None and self.report.launches and not is_quiet:
            ends.append(f"trace: blockscope view {self.trace}")
        return "\n\n".join([*parts, *(["\n".join(ends)] if ends else [])])

    def facts(self) -> Facts:
        findings = self.findings()
        self.report.known_in_children = [e for e in findings if e.is_known and e.child is not None]
        codes = {each.code for each in findings}
        return {
            "place": 0,  # the summary knows it
            "launches": self.report.launches,
            "copies": self.report.launches_of_copies,
            "findings": [(e.data, e.text, e.allowed, e.is_known) for e in findings],
            "allow": {key: code in codes for code, key in self.wanted.expected().items()},
            "comments": self.report.comments(),
            "wrong_comments": self.report.wrong_comments(),
            "baseline": self.report.uses_of_baseline(),
        }


def _identity(finding: checks.Finding) -> str:
    """The same for a finding that has only been found more often."""
    counts = ("count", "program_count")
    data = {name: value for name, value in finding.data.items() if name not in counts}
    return repr((finding.child, data))


_TEST = pytest.StashKey[CheckedTest]()


class CheckedTests:
    """The hooks of a run whose tests are checked."""

    def __init__(self, config: pytest.Config, names: list[str], options: dict[str, Any]) -> None:
        folder = config.getoption("blockscope_trace")
        self._names = names
        self._options = options
        self._folder = None if folder is None else _writable_folder(folder)
        self._of_children = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._open: CheckedTest | None = None
        self._summary = Summary(config, names, options["baseline"])
        config.pluginmanager.register(self._summary, "blockscope summary")

    def report_of(self, item: pytest.Item) -> checks.CheckReport | None:
        test = item.stash.get(_TEST, None)
        return None if test is None else test.report

    def pytest_report_header(self) -> str:
        return f"blockscope: the kernels of each test are checked: {', '.join(self._names)}"

    def pytest_deselected(self, items: Iterable[pytest.Item]) -> None:
        for item in items:
            self._summary.will_not_run(self._allow_of(item))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            self._summary.will_run(item.nodeid, self._allow_of(item))

    def _allow_of(self, item: pytest.Item) -> Iterable[str]:
        with suppress(ValueError):  # the test says so, when it runs
            return self._wanted_by(item).expected().values()
        return ()

    def _wanted_by(self, item: pytest.Item) -> Wanted:
        return wanted_by(item, self._names, self._options)

    # --- the life of a test ---

    @pytest.hookimpl(tryfirst=True)  # not a wrapper: other plugins want theirs to have begun
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self._close()  # of a test that was left in its middle
        if _TEST in item.stash:  # of its run before, where a plugin runs tests again
            del item.stash[_TEST]
        try:
            wanted = self._wanted_by(item)
        except ValueError as error:
            raise _Failed(str(error), pytrace=False) from None
        if wanted.checks:
            try:
                trace = self._trace_file(item)
                self._open = CheckedTest(wanted, trace, self._of_children.name)
            except ValueError as error:
                raise _Failed(f"{TAKES}: {error}", pytrace=False) from None
            item.stash[_TEST] = self._open

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        test = item.stash.get(_TEST, None)
        try:
            result = yield
        except pytest.skip.Exception:  # what it had launched until then counts
            if test is not None and test.must_fail():
                raise test.raised from None  # type: ignore[misc]
            raise
        if test is not None and test.must_fail():
            raise test.raised  # type: ignore[misc]
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, Any, Any]:
        test = item.stash.get(_TEST, None)
        try:
            result = yield
            if test is not None and test.must_fail():
                raise test.raised  # type: ignore[misc]
        except BaseException:
            if test is not None:
                test.has_failed = True
            raise
        finally:
            self._close()
        return result

    def _close(self) -> None:
        if self._open is not None:
            test, self._open = self._open, None
            test.close()

    def pytest_unconfigure(self) -> None:
        self._close()
        self._of_children.cleanup()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, Any, Any]:
        report = yield
        test = item.stash.get(_TEST, None)
        if test is None:
            return report
        raised = None if call.excinfo is None else call.excinfo.value
        if isinstance(raised, FindingsError):
            _show_at_its_place(report, raised)
        elif not report.passed and (error := test.raised or test.take_errors()):
            _add(report, error, raised)  # a unittest raises late what it has caught itself
        test.raised = None
        test.has_failed |= report.failed
        if report.when != "setup" and (rest := test.take_rest()):
            where = "" if report.when == "call" else f" {report.when}"
            report.sections.append((f"{_SECTION}{where}", rest))
        if report.when == "teardown":
            self._summary.send(report, test.facts())
        return report

    def _trace_file(self, item: pytest.Item) -> str | None:
        if self._folder is None:
            return None
        words = re.sub(r"[^\w.]+", "-", item.nodeid).strip("-")
        digest = hashlib.sha256(item.nodeid.encode()).hexdigest()[:6]
        is_plain = re.fullmatch(r"[\w./:]+", item.nodeid) and len(words) < 150
        return os.path.join(self._folder, f"{words[:150]}{'' if is_plain else '-' + digest}.h5")


def _show_at_its_place(report: pytest.TestReport, error: FindingsError) -> None:
    """The line of the kernel in place of the line here that raises, and the report as it stands."""
    place = next(each for each in error.findings if each.severity == "error")
    representation: Any = report.longrepr
    crash = getattr(representation, "reprcrash", None)
    if crash is not None:
        crash.path, crash.lineno = place.file, place.line
        # The summary's line: under CI pytest prints all of a message there, not its first line.
        crash.message = place.text.splitlines()[0] + _and_more(len(error.findings) - 1)
        entries = representation.reprtraceback.reprentries
        entries[-1].lines[:] = str(error).splitlines()


def _and_more(count: int) -> str:
    return f" (and {count} more finding{'s' if count > 1 else ''})" if count else ""


def _add(report: pytest.TestReport, error: FindingsError, raised: BaseException | None) -> None:
    """Show what was found in the report of a test that has ended by itself."""
    if report.skipped and not hasattr(report, "wasxfail"):  # a unittest: its skip comes out late
        report.outcome = "failed"
        report.longrepr = str(error)
        return
    if str(error) in str(raised):  # it has raised what was found
        return
    representation: Any = report.longrepr
    if hasattr(representation, "addsection"):
        representation.addsection(_SECTION, str(error))
    else:
        report.longrepr = f"{representation}\n{error}"


def _writable_folder(folder: str) -> str:
    """The folder as it was named, made.

    Errors: UsageError where no trace can be written there, or by this build of Blockscope.
    """
    try:
        os.makedirs(folder, exist_ok=True)
        with checks.trace(os.path.join(folder, f"probe-{os.getpid()}.h5")):
            pass  # it leaves no file
    except OSError as error:
        said = f"'{folder}' cannot be made: {error.strerror}" if error.strerror else str(error)
        raise pytest.UsageError(f"--blockscope-trace: {said}") from None
    return folder
