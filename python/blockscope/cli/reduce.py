"""``blockscope reduce run.blk -o small.py``: a failing launch as a file of a few lines."""

from __future__ import annotations

import argparse
import json
import linecache
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

from blockscope import checks, finding_codes
from blockscope.cli.launch_script import LaunchScript
from blockscope.cli.own_process import python_words
from blockscope.cli.usage import UsageError
from blockscope.errors import LaunchFileError
from blockscope.launch_file.case import Case
from blockscope.launch_file.case_of_file import case_of, names_of
from blockscope.launch_file.contents import Launch
from blockscope.launch_file.recorder import OF_TUNING
from blockscope.launch_file.reduce import Reduction, Target, checks_for
from blockscope.launch_file.source_text import SourceText


def reduce_launch(
    script: LaunchScript,
    output: str,
    options: argparse.Namespace,
    names: list[str],
    given: dict[str, Any],
) -> int:
    """Write the small file, and see that it shows the finding; gives the status."""
    if os.path.exists(output) and not _is_ours(output):
        raise UsageError(
            f"'{output}' is there, and not a file that reduce has written: name another one with -o"
        )
    try:
        launch, finding, report = _failing(script, options, names, given)
        return _reduce(script, launch, finding, report, output, options.seconds, names, given)
    except LaunchFileError as error:
        raise UsageError(str(error)) from None


_MADE = "made small. It shows with:"


def _is_ours(path: str) -> bool:
    """Whether a file begins as those do that are written here."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline().rstrip().endswith(_MADE)
    except OSError:
        return True  # writing it says why not


def _failing(
    script: LaunchScript, options: argparse.Namespace, names: list[str], given: dict[str, Any]
) -> tuple[Launch, Any, tuple[list[Any], str | None]]:
    """The first launch with a finding that was asked for, all its findings, and how it ended."""
    wanted = options.finding
    seen: list[str] = []
    failed: list[str] = []
    for launch, found, failure in _checked(script, names, given):
        seen += [each.code for each in found]
        if failure and not found:
            failed.append(f"; launch {launch.number} ends with {failure}, which is no finding")
        of_code = [each for each in found if wanted in (None, each.code)]
        errors = [each for each in of_code if each.severity == "error"]
        if of_code and (errors or wanted):
            return launch, (errors or of_code)[0], (found, failure)
    what = f"'{wanted}'" if wanted else "an error"
    also = f"; there are {', '.join(sorted(set(seen)))} (--finding)" if seen else ""
    left = set(checks.parse_checks("all")) - set(names)
    others = "others may find it (--checks all), and " if left else ""
    why = (
        f"; {others}what is about tuning, or happens between launches, a launch file does not "
        "hold: check the script"
    )
    raise UsageError(
        f"no launch of '{script.file.path}' has {what} under the checks {','.join(names)}{also}"
        f"{failed[0] if failed else why}"
    )


def checks_of(names: list[str], code: str | None) -> list[str]:
    """The checks, and those that look for a code where none of them does. Errors: UsageError."""
    if code is None:
        return names
    if problem := finding_codes.problem_of(code):
        raise UsageError(f"--finding {code}: {problem}")
    if code in OF_TUNING:
        raise UsageError(
            f"--finding {code}: it is about tuning, which a launch file does not hold: check the "
            "script"
        )
    if code in checks.codes_of(names):
        return names
    return [*names, *(row["name"] for row in checks.table() if code in row["codes"])]


def _checked(
    script: LaunchScript, names: list[str], given: dict[str, Any]
) -> Iterator[tuple[Launch, list[Any], str | None]]:
    """Each launch with the findings that are new with it, and the kind of error that ended it."""
    with checks.check(names, **given) as report:
        for launch in script.launches:
            failure = None
            try:
                script.replay.run(launch)
            except LaunchFileError:
                raise
            except Exception as error:
                failure = type(error).__name__
            found = [each for each in report.findings if each.get("launch") == launch.number]
            yield launch, found, failure


def _reduce(
    script: LaunchScript,
    launch: Launch,
    finding: Any,
    report: tuple[list[Any], str | None],
    output: str,
    seconds: float,
    checked: list[str],
    given: dict[str, Any],
) -> int:
    found, failure = report
    replay = script.replay
    kernel = replay.kernel(launch)
    case = case_of(script.file, launch, kernel)
    source = SourceText(script.file, launch.kernel)
    for _, value in [*launch.arguments, *launch.options]:
        source.also(value)
    names = checks_for(finding.code, checked)
    reduction = Reduction(
        launch, names_of(launch, kernel, replay), names, given, Target.of(finding),
        frozenset(Target.of(each).place for each in found),
        time.monotonic() + seconds, failure=failure,
    )  # fmt: skip
    begin = time.monotonic()
    reduction.seconds_of_launch = seconds
    stays = reduction.stays(case)
    reduction.seconds_of_launch = time.monotonic() - begin
    if not stays:
        raise LaunchFileError(
            f"'{finding.code}' of launch {launch.number} is not there when the launch runs alone "
            "with memory made anew: it depends on what was before, or on where memory was"
        )
    small = reduction.smallest(case)
    text = _text(small, source, finding, names, given, script, launch)
    try:
        with open(output, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"'{output}' cannot be written: {error.strerror}") from None
    line = script_line(finding)
    why_not = _why_not_shown(output, names, given, finding.code, line)
    grid = " x ".join(str(n) for n in launch.grid if n > 1) or "1"
    now = " x ".join(str(n) for n in small.grid if n > 1) or "1"
    print(
        f"wrote {output}: {len(small.lines(literal=True))} lines that make and launch it, a grid "
        f"of {now} (was {grid}); {reduction.tries} launches in {time.monotonic() - begin:.1f} s"
        f"{', the time was up (--seconds)' if reduction.is_over else ''}",
        file=sys.stderr,
    )
    if why_not:
        print(
            f"blockscope: in a process of its own {output} does not show '{finding.code}' at "
            f"'{line}': {why_not}",
            file=sys.stderr,
        )
        return 1
    print(f"it shows {finding.code} with: {_how(output, names, given)}", file=sys.stderr)
    return 0


def _text(
    case: Case,
    source: SourceText,
    finding: Any,
    names: list[str],
    given: dict[str, Any],
    script: LaunchScript,
    launch: Launch,
) -> str:
    lines = case.lines(literal=True)
    code = "\n".join(lines)
    imports = dict(source.imports)
    for name, text in (
        ("np", "import numpy as np"), ("torch", "import torch"), ("base64", "import base64"),
        ("zlib", "import zlib"),
    ):  # fmt: skip
        if f"{name}." in code:
            imports.setdefault(name, text)
    if "TensorDescriptor(" in code:
        imports["TensorDescriptor"] = (
            "from triton.tools.tensor_descriptor import TensorDescriptor"
        )  # fmt: skip
    place = f"{os.path.basename(finding.file)}:{finding.line}"
    head = [
        f"# {finding.code} of '{launch.kernel_name}' ({place}), {_MADE}",
        f"# {_how('THIS_FILE', names, given)}",
    ]
    body = [*sorted(set(imports.values()), key=lambda t: (t.startswith("from"), t)), *source.text()]
    return "\n".join([*head, *body, "", "", *lines]) + "\n"


def _how(path: str, names: list[str], given: dict[str, Any]) -> str:
    words = ["blockscope", "check", "--checks", ",".join(names)]
    for name, value in given.items():
        words += [f"--{name.replace('_', '-')}", str(value)] if value != "on" else [f"--{name}"]
    return " ".join([*words, path])


def script_line(finding: Any) -> str:
    """The source line of a finding."""
    return linecache.getline(finding.file, finding.line).strip()


def _why_not_shown(path: str, names: list[str], given: dict[str, Any], code: str, line: str) -> str:
    """Empty where a file shows a finding at a source line, in a process of its own."""
    words = _how(path, names, given).split()[1:-1]
    words[1:1] = ["--format", "json"]
    done = subprocess.run(
        [*python_words("from blockscope.cli import main; sys.exit(main())"), *words, path],
        capture_output=True,
        text=True,
    )
    try:
        found = json.loads(done.stdout)
    except ValueError:
        said = done.stderr.strip().splitlines()
        return f"it ended with status {done.returncode}{': ' + said[-1] if said else ''}"
    with open(path, encoding="utf-8") as file:
        lines = [text.strip() for text in file]
    if any(
        each["code"] == code and each["line"] <= len(lines) and lines[each["line"] - 1] == line
        for each in found
    ):
        return ""
    shown = ", ".join(f"{each['code']} at line {each['line']}" for each in found)
    said = done.stderr.strip().splitlines()
    return f"it shows {shown or 'no findings'}{' (' + said[-1] + ')' if said else ''}"
