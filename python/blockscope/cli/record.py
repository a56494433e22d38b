"""``blockscope record``: the launches of a script as a file."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

from blockscope import checks, knobs
from blockscope.cli.report_formats import text_of
from blockscope.cli.script import Script
from blockscope.cli.usage import UsageError
from blockscope.cli.verify import Verifier, verifier_of_this_machine
from blockscope.errors import LaunchFileError
from blockscope.launch_file.container import Writer
from blockscope.launch_file.recorder import OF_TUNING, Recorder

_SAID = 10  # reasons why launches are not recorded


def record_script(
    script: Script, path: str, options: argparse.Namespace, names: list[str], given: dict[str, Any]
) -> int:
    """Run the script under the checks ``names``, if any; gives its status."""
    verifier: Verifier | None = None
    if options.on_mismatch:
        verifier = verifier_of_this_machine("record --on-mismatch")
    had_file = os.path.exists(path)
    try:
        writer = Writer(path)
    except OSError as error:
        raise UsageError(f"'{path}' cannot be written: {error.strerror}") from None
    said: set[str] = set()
    recorder = Recorder(
        writer,
        keeps_values=not options.no_values,
        on_finding=options.on_finding,
        on_more=verifier.count if verifier is not None else None,
        limit=options.limit,
        say=lambda text: _say_once(text, said),
    )
    process, exit = os.getpid(), os._exit
    found: Callable[[int], str] | None = None if verifier is None else lambda _: verifier.summary()
    codes: Callable[[], set[str]] = set

    def end(status: int) -> Any:
        if os.getpid() == process:
            status = _end(recorder, writer, path, options, had_file, found, codes, status)
            sys.stdout.flush()
        exit(status)

    with ExitStack() as stack:
        if names:
            report = stack.enter_context(checks.check(names, **given))
            found = partial(_report_text, report)
            codes = lambda: {finding.code for finding in report.findings}  # noqa: E731
        if verifier is not None:
            stack.enter_context(knobs.runtime.scope())
            knobs.runtime.interpret = False
        stack.enter_context(recorder.recording(verifier.launch if verifier else None))
        os._exit = end  # by which a script may end the process
        try:
            status = script.run()
        finally:
            os._exit = exit
    return _end(recorder, writer, path, options, had_file, found, codes, status)


def _report_text(report: Any, status: int) -> str:
    return text_of(report, status, report.launches > 0, color=False)


def _end(
    recorder: Recorder,
    writer: Writer,
    path: str,
    options: argparse.Namespace,
    had_file: bool,
    found: Callable[[int], str] | None,
    codes: Callable[[], set[str]],
    status: int,
) -> int:
    """Write the file, and say what is in it."""
    if found is not None:
        print(found(status).rstrip("\n"), file=sys.stderr)
    between = codes() if recorder.recorded == 0 and not recorder.refused else codes() & OF_TUNING
    if between:
        print(f"blockscope: {_not_held(between)}", file=sys.stderr)
    if recorder.recorded == 0:
        writer.give_up()
        why = "no kernel was launched"
        if options.on_finding and not recorder.refused:
            why = "no launch by itself had a finding" if between else "no launch had a finding"
        elif options.on_mismatch and not recorder.refused:
            why = "no launch differed"
        elif recorder.refused:
            why = "no launch could be recorded"
        fate = "stays as it was" if had_file else "was not written"
        print(f"{why}: {path} {fate}", file=sys.stderr)
        return status or int(recorder.refused > 0)
    try:
        size = writer.close(recorder.head())
    except (LaunchFileError, OSError) as error:
        writer.give_up()
        print(f"blockscope: '{path}' was not written: {error}", file=sys.stderr)
        return 1
    left_out = ""
    if recorder.beyond_limit:
        left_out += f", without {recorder.beyond_limit} that came later (--limit)"
    if recorder.refused:
        left_out += f", without {recorder.refused} that cannot be recorded"
    print(
        f"wrote {_counted(recorder.recorded, 'launch', 'launches')} of "
        f"{_counted(recorder.kernels, 'kernel', 'kernels')} to {path} ({_bytes(size)}){left_out}; "
        f"run {'it' if recorder.recorded == 1 else 'them'} with: "
        f"blockscope check {_as_recorded(options)}{path}",
        file=sys.stderr,
    )
    return status


def _not_held(codes: set[str]) -> str:
    """Why a file does not show findings that were printed."""
    names = ", ".join(f"'{code}'" for code in sorted(codes))
    what = "tuning" if codes <= OF_TUNING else "what happens between launches"
    return f"{names} is about {what}, which a launch file does not hold: check the script"


def _as_recorded(options: argparse.Namespace) -> str:
    """The checks that were named: a check with others would not show what these have found."""
    return f"--checks {shlex.quote(options.checks)} " if options.checks is not None else ""


def _say_once(text: str, said: set[str]) -> None:
    if text not in said and len(said) < _SAID:
        said.add(text)
        print(f"blockscope: {text}", file=sys.stderr, flush=True)


def _counted(count: int, singular: str, plural: str) -> str:
    return f"{count} {singular if count == 1 else plural}"


def _bytes(size: int) -> str:
    for unit in ("bytes", "KB", "MB"):
        if size < 1000 or unit == "MB":
            return f"{size} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
        size = size / 1000  # type: ignore[assignment]
    return ""
