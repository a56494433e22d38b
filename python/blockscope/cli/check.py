"""The commands ``blockscope check`` and ``triton-san``: a script runs, its launches are checked."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any, NoReturn

from blockscope import baseline as baselines
from blockscope.cli import report_formats
from blockscope.cli.before_run import (
    check_writable,
    chosen_checks,
    own_project,
    prepared,
)
from blockscope.cli.json_output import JsonOutput
from blockscope.cli.progress import shown_launches
from blockscope.cli.script import INTERRUPTED
from blockscope.cli.sources import Sources
from blockscope.cli.usage import UsageError
from blockscope.cli.viewer import find_viewer
from blockscope.errors import StoppedAtFirst
from blockscope.project import Project

PYTHON_WORDS = ("python", "python3", "py")


#: Says what was found: the report, the status of the script, what child processes have found, and
#: a trace of the launches or None.
End = Callable[[Any, int, Sequence[dict[str, Any]], "str | None"], None]


def check(options: argparse.Namespace) -> int:
    return checked(options, _writing(options))


def checked(options: argparse.Namespace, end: End) -> int:
    """Runs the script and calls ``end``, at its end; gives the status of the command."""
    from blockscope import checks

    own = own_project()
    names = chosen_checks(options.checks, own)
    known = ("max_findings", *(o["name"] for row in checks.table() for o in row["options"]))
    given = {name: getattr(options, name) for name in known if getattr(options, name) is not None}
    chosen = {**own.options, **given}
    chosen["baseline"] = baseline_of(options, own)
    script = prepared(options.script, options.launch_number)

    def ended(status: int, children: Sequence[dict[str, Any]], trace: str | None) -> int:
        report.is_cut_off = status != 0
        report.known_in_children = [each for child in children for each in child["known"]]
        end(report, status, children, trace)
        errors = report.error_count + sum(child["errors"] for child in children)
        return int(options.exit_code) if errors and status != INTERRUPTED else status

    with ExitStack() as stack:
        trace = _trace_file(options, stack)
        with (
            checks.check(names, stop_at_first=options.stop_at_first, **chosen) as report,
            checks.checked_children(report) as found_in_children,
            nullcontext() if trace is None else checks.trace(trace),
            _before_sudden_end(lambda status: ended(status, (), None)),
            shown_launches(report),
        ):
            status = script.run(silent=(StoppedAtFirst,) if options.stop_at_first else ())
            children = found_in_children()
        return ended(status, children, trace)


def _trace_file(options: argparse.Namespace, stack: ExitStack) -> str | None:
    """Where to record what pictures are drawn of."""
    if not options.heat_maps:
        return None
    if options.format != "html":
        raise UsageError(f"--heat-maps are pictures for --format html, found '{options.format}'")
    find_viewer()
    folder = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
    return os.path.join(folder, "trace.h5")


def _writing(options: argparse.Namespace) -> End:
    """Writes the report in its format to where it shall go."""
    check_writable(options.output)
    is_on_stdout = options.format != "text" and options.output is None
    if options.format == "html" and is_on_stdout and sys.stdout.isatty():
        raise UsageError("--format html is a page for a browser, expected --output FILE or a pipe")
    output: JsonOutput | None = None
    sources = Sources()

    def end(
        report: Any, status: int, children: Sequence[dict[str, Any]], trace: str | None
    ) -> None:
        text = report_formats.document(report, options, status, sources, children, trace)
        if options.write_baseline is not None:
            said = _write_baseline(report, status, has_launched=bool(report.launches or children))
            text = said if options.format == "text" else text
            if options.format != "text" or options.output is not None:
                print(said, end="", file=sys.stderr)
        _write(text, options.output, output)
        if options.output is not None and options.write_baseline is None:
            said = report_formats.counts(report.findings, report.launches)
            print(f"wrote {options.output}: {said}", file=sys.stderr)
        for child in children:
            if child["findings"]:
                print(
                    f"in child process {child['pid']}:\n{child['text'].rstrip()}", file=sys.stderr
                )

    if is_on_stdout:
        output = JsonOutput()
    return end


def baseline_of(options: argparse.Namespace, own: Project) -> baselines.Baseline | None:
    """The baseline that was named, else the project's; one to write into where that is asked.

    Errors: UsageError.
    """
    if options.write_baseline is not None:
        if options.baseline is not None:
            raise UsageError("--baseline and --write-baseline were named, expected one of them")
        if options.stop_at_first:
            raise UsageError("--write-baseline needs all findings, --stop-at-first finds one")
        check_writable(options.write_baseline)
    named = own.options.get("baseline") if options.baseline is None else options.baseline
    try:
        if options.write_baseline is not None:
            return baselines.read(options.write_baseline, accepts_all=True)
        return None if named in (None, "off") else baselines.read(named)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _write_baseline(report: Any, status: int, *, has_launched: bool) -> str:
    """Brings the baseline up to date; gives what is to be said of it."""
    baseline: baselines.Baseline = report.baseline
    if not has_launched:
        return f"{report_formats.NO_LAUNCH}; {baseline.name()} stays as it is\n"
    found = [*report.allowed, *report.known_in_children]
    # A script that ended early says nothing of what it did not reach.
    uses = {} if status else report.uses_of_baseline()
    stale = [key for key, occurs in uses.items() if not occurs]
    try:
        lines = [baseline.update((each.data for each in found if each.is_known), stale)]
    except OSError as error:
        raise UsageError(f"'{baseline.path}' cannot be written: {error.strerror}") from None
    if dropped := report.handle.dropped_causes():
        lines.append(f"further causes that are not in it: {dropped}")
    if status:
        lines.append(f"the script ended with status {status}: what it did not reach is not in it")
    return "\n".join(lines) + "\n"


@contextmanager
def _before_sudden_end(end: Callable[[int], int]) -> Iterator[None]:
    """Has os._exit, by which a script ends this process at once, call ``end`` with its status
    before, and end with what that gives."""
    exit, process = os._exit, os.getpid()

    def end_first(status: int) -> NoReturn:
        if os.getpid() == process:  # not a child, which ends so by right
            status = end(status)
            sys.stdout.flush()
        exit(status)

    os._exit = end_first
    try:
        yield
    finally:
        os._exit = exit


def _write(text: str, path: str | None, output: JsonOutput | None) -> None:
    if output is not None:
        output.write(text)
    elif path is not None:
        try:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise UsageError(f"'{path}' cannot be written: {error.strerror}") from None
    else:
        sys.stderr.write(text)
        sys.stderr.flush()


def triton_san(options: argparse.Namespace) -> int:
    expected = "expected triton-san [options] CHECKS [python] FILE [args]"
    try:
        chosen_checks(options.checks, Project())
    except UsageError as error:
        problem = str(error)
        if os.path.isfile(options.checks):
            file = options.checks
            problem = f"'{file}' stands where checks are named; try triton-san all {file}"
        raise UsageError(f"{problem}; {expected}") from None
    words = options.script[1:] if options.script[:1] == ["--"] else options.script
    is_python = bool(words) and (
        words[0] == sys.executable or os.path.basename(words[0]) in _python_names()
    )
    words = words[1:] if is_python else words
    if not words:
        raise UsageError(f"no file was named, {expected}")
    if is_python and words[0].startswith("-") and words[0] not in ("-m", "-c"):
        raise UsageError(f"options such as '{words[0]}' of Python are not taken, {expected}")
    options.script = words
    return check(options)


def _python_names() -> tuple[str, ...]:
    version = sys.version_info
    return (*PYTHON_WORDS, f"python{version.major}.{version.minor}")
