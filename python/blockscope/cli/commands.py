"""What each command does; every function gets the parsed options and gives the exit status."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NoReturn

from blockscope.cli.json_output import JsonOutput
from blockscope.cli.script import Script
from blockscope.cli.usage import UsageError
from blockscope.errors import StoppedAtFirst

VIEW_OPTIONS = ("png", "tensor", "program", "size", "launch", "op", "finding", "cell", "slice",
                "mode", "csv")  # fmt: skip
PYTHON_WORDS = ("python", "python3", "py")


def wants_color(stream: Any) -> bool:
    """Colour on a terminal, unless NO_COLOR is set."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and stream.isatty()


def _prepare(words: list[str]) -> Script:
    """The script, and ``import triton`` meaning Blockscope here and in child processes."""
    script = Script(words)
    from blockscope.drop_in import install_as_triton

    install_as_triton()
    return script


def _check_writable(path: str | None) -> None:
    """Fail before the run, not after it, when the report cannot be written."""
    if path is None:
        return
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path):
        raise UsageError(f"'{path}' cannot be written: it is a folder")
    if path.endswith(".py"):
        raise UsageError(f"'{path}' cannot be written: it is named like a Python file")
    if not os.path.isdir(folder):
        raise UsageError(f"'{path}' cannot be written: there is no folder '{folder}'")
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise UsageError(f"'{path}' cannot be written: no permission")


def run(options: argparse.Namespace) -> int:
    script = _prepare(options.script)
    if options.step:
        os.environ["TRITON_INTERPRET"] = "1"
    return script.run()


def check(options: argparse.Namespace) -> int:
    from blockscope import checks

    names = _checks(options.checks)
    _check_writable(options.output)
    script = _prepare(options.script)
    is_on_stdout = options.format == "json" and options.output is None
    output = JsonOutput() if is_on_stdout else None
    own = {o["name"]: getattr(options, o["name"]) for row in checks.table() for o in row["options"]}
    with (
        checks.check(
            names, max_findings=options.max_findings, stop_at_first=options.stop_at_first, **own
        ) as report,
        checks.checked_children(report) as found_in_children,
        _before_sudden_end(lambda status: _end_checked(report, options, status, output)),
    ):
        status = script.run(silent=(StoppedAtFirst,) if options.stop_at_first else ())
        children = found_in_children()
    return _end_checked(report, options, status, output, children)


def _end_checked(
    report: Any,
    options: argparse.Namespace,
    status: int,
    output: JsonOutput | None,
    children: Sequence[dict[str, Any]] = (),
) -> int:
    """Writes the report of a script that has ended; gives the status of the command."""
    _write_report(report, options, status, output, bool(children))
    for child in children:
        print(f"in child process {child['pid']}:\n{child['text'].rstrip()}", file=sys.stderr)
    errors = report.error_count + sum(child["errors"] for child in children)
    return options.exit_code if errors else status


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


def _checks(text: str) -> list[str]:
    from blockscope.checks import parse_checks

    try:
        return parse_checks(text)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _write_report(
    report: Any,
    options: argparse.Namespace,
    status: int,
    json_output: JsonOutput | None,
    has_children: bool = False,
) -> None:
    if options.format == "json":
        text = report.json().rstrip("\n") + "\n"
    else:
        color = options.output is None and wants_color(sys.stderr)
        text = report.text(color).rstrip("\n")
        if report.launches == 0 and not has_children:
            text = "no kernel was launched: nothing was checked"
        elif status and not report.findings:
            text += f" up to where the script ended, with status {status}"
        text = text + "\n" if text else ""
    if json_output is not None:
        json_output.write(text)
    elif options.output is not None:
        try:
            with open(options.output, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise UsageError(f"'{options.output}' cannot be written: {error.strerror}") from None
    else:
        sys.stderr.write(text)
        sys.stderr.flush()


def triton_san(options: argparse.Namespace) -> int:
    expected = "expected triton-san [options] CHECK [python] FILE [args]"
    try:
        _checks(options.checks)
    except UsageError as error:
        raise UsageError(f"{error}; {expected}") from None
    words = options.script[1:] if options.script[:1] == ["--"] else options.script
    is_python = bool(words) and (
        words[0] == sys.executable or os.path.basename(words[0]) in _python_names()
    )
    words = words[1:] if is_python else words
    if not words:
        raise UsageError(f"no file was named, {expected}")
    if words[0].startswith("-") and words[0] not in ("-m", "-c"):
        whose = "of Python are not taken" if is_python else "stand before the check"
        raise UsageError(f"options such as '{words[0]}' {whose}, {expected}")
    options.script = words
    return check(options)


def _python_names() -> tuple[str, ...]:
    version = sys.version_info
    return (*PYTHON_WORDS, f"python{version.major}.{version.minor}")


def trace(options: argparse.Namespace) -> int:
    from blockscope import checks

    words, output = output_after_script(options.script, options.output)
    output = output or "trace.h5"
    names = [] if options.checks == "none" else _checks(options.checks)
    _check_writable(output)
    script = _prepare(words)
    had_file = os.path.exists(output)
    report: Any = None
    with ExitStack() as stack:
        if names:
            report = stack.enter_context(checks.check(names))
        try:
            recording = stack.enter_context(checks.trace(output))
        except OSError as error:
            raise UsageError(str(error)) from None
        status = script.run()
    if recording.launches == 0:
        fate = "stays as it was" if had_file else "was not written"
        print(f"no kernel was launched: {output} {fate}", file=sys.stderr)
    else:
        found = _severities(report.findings) if report else ""
        some = f"{_counted(recording.launches, 'launch', 'launches')}{found and f' with {found}'}"
        print(f"wrote {some} to {output}; look at it with: blockscope view {output}",
              file=sys.stderr)  # fmt: skip
    return status


def _severities(findings: list[Any]) -> str:
    """ "2 errors and 1 note"; empty where there are none."""
    counts = Counter(finding.severity for finding in findings)
    words = [_counted(counts[each], each) for each in ("error", "warning", "note") if counts[each]]
    return ", ".join(words[:-1]) + (" and " if len(words) > 1 else "") + "".join(words[-1:])


def _counted(count: int, singular: str, plural: str = "") -> str:
    return f"{count} {singular if count == 1 else plural or singular + 's'}"


def output_after_script(words: list[str], output: str | None) -> tuple[list[str], str | None]:
    """Take '-o T.h5' from where people write it too: right behind the file."""
    place = 1 if words[:1] == ["--"] else 0
    place += 2 if words[place : place + 1] in (["-m"], ["-c"]) else 1
    if output is not None or words[place : place + 1] not in (["-o"], ["--output"]):
        return words, output
    if len(words) < place + 2:
        raise UsageError(f"{words[place]} needs a file")
    return words[:place] + words[place + 2 :], words[place + 1]


def view(options: argparse.Namespace) -> int:
    from blockscope.cli.viewer import find_viewer

    if os.path.isdir(options.trace):
        raise UsageError(f"'{options.trace}' is a folder, expected a trace file")
    if not os.path.isfile(options.trace):
        raise UsageError(f"there is no file '{options.trace}'")
    if options.csv is not None and options.png is not None:
        raise UsageError("--csv and --png are two outputs, expected one of them")
    _check_writable(options.png)
    words = [find_viewer(), options.trace]
    for name in VIEW_OPTIONS:
        value = getattr(options, name)
        if value is not None:
            words += [f"--{name}", str(value)]
    if options.log:
        words.append("--log")
    sys.stdout.flush()
    os.execv(words[0], words)


def explain(options: argparse.Namespace) -> int:
    from blockscope.cli.explain import summaries, text_of

    if options.code is None:
        rows = summaries()
        width = max(len(code) for code, _ in rows)
        for code, summary in rows:
            print(f"{code:<{width}}  {summary}")
        return 0
    print(text_of(options.code), end="")
    return 0


def _end_with_reader() -> None:
    """Whoever reads what is printed may stop early, as ``head`` does."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def ir(options: argparse.Namespace) -> int:
    from blockscope.cli.block_ir import printed_kernels

    _check_writable(options.output)
    _end_with_reader()
    script = _prepare(options.script)
    with ExitStack() as stack:
        stream = sys.stdout
        if options.output is not None:
            stream = stack.enter_context(open(options.output, "w", encoding="utf-8"))
        stack.enter_context(printed_kernels(stream))
        return script.run()


def compile(options: argparse.Namespace) -> int:
    from blockscope.cli.compile import compile_script

    _end_with_reader()
    return compile_script(_prepare(options.script), options)


def verify(options: argparse.Namespace) -> int:
    from blockscope.cli.verify import verify_script

    return verify_script(_prepare(options.script), options)


def same(options: argparse.Namespace) -> int:
    from blockscope.cli.same import compare_files

    return compare_files(options.one, options.other)


def doctor(options: argparse.Namespace) -> int:
    from blockscope.cli.doctor import report

    return report(sys.stdout)


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "run": run,
    "check": check,
    "trace": trace,
    "view": view,
    "explain": explain,
    "ir": ir,
    "compile": compile,
    "verify": verify,
    "same": same,
    "doctor": doctor,
    "triton-san": triton_san,
}

__all__ = ["COMMANDS", "UsageError", "wants_color"]
