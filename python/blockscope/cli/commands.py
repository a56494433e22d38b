"""What each command does; every function gets the parsed options and gives the exit status."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from blockscope.cli.before_run import (
    check_writable,
    chosen_checks,
    launches_of,
    own_project,
    prepared,
)
from blockscope.cli.script import Script
from blockscope.cli.usage import UsageError
from blockscope.project import Project


def run(options: argparse.Namespace) -> int:
    script = prepared(options.script, options.launch_number)
    if options.step:
        os.environ["TRITON_INTERPRET"] = "1"
    return script.run()


def trace(options: argparse.Namespace) -> int:
    from blockscope.cli.predictions import device_named, names_with_peaks
    from blockscope.cli.traced import record

    words, output = output_after_script(options.script, options.output)
    output = output or "trace.h5"
    device = device_named(options.target) if options.target else None
    own = own_project()
    names = [] if options.checks == "none" else chosen_checks(options.checks, own)
    check_writable(output)
    script = prepared(words, options.launch_number)
    if device is not None and not device["peaks"]:
        print(
            f"blockscope: no peaks of '{options.target}' are known, so that its roofline has no "
            f"roof; known are those of {', '.join(names_with_peaks())}",
            file=sys.stderr,
        )
    had_file = os.path.exists(output)
    recorded = record(script, output, names, _unfiltered(own), values=options.values, device=device)
    if recorded.launches == 0:
        fate = "stays as it was" if had_file else "was not written"
        print(f"no kernel was launched: {output} {fate}", file=sys.stderr)
    else:
        print(f"wrote {recorded.summary()} to {output}; look at it with: blockscope view {output}",
              file=sys.stderr)  # fmt: skip
    return recorded.status


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
    from blockscope.cli.view import view as view_paths

    return view_paths(options)


def explain(options: argparse.Namespace) -> int:
    from blockscope.cli.explain import of_checks, summaries, text_of

    if options.code is not None and (said := of_checks(options.code)):
        print(said, end="")
        return 0
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

    check_writable(options.output)
    _end_with_reader()
    script = prepared(options.script, options.launch_number)
    with ExitStack() as stack:
        stream = sys.stdout
        if options.output is not None:
            stream = stack.enter_context(open(options.output, "w", encoding="utf-8"))
        stack.enter_context(printed_kernels(stream))
        return script.run()


def compile(options: argparse.Namespace) -> int:
    from blockscope.cli.compile import compile_script

    _end_with_reader()
    return compile_script(prepared(options.script, options.launch_number), options)


def verify(options: argparse.Namespace) -> int:
    from blockscope.cli.verify import verify_script

    return verify_script(prepared(options.script, options.launch_number), options)


def record(options: argparse.Namespace) -> int:
    from blockscope.cli.record import record_script

    words, output = output_after_script(options.script, options.output)
    output = output or "run.blk"
    own = own_project()
    is_checked = options.on_finding or options.checks is not None
    names = chosen_checks(options.checks, own) if is_checked else []
    check_writable(output)
    script = prepared(words)
    if not isinstance(script, Script):
        raise UsageError(f"'{words[-1]}' is a launch file already, expected a script")
    return record_script(script, output, options, names, _unfiltered(own))


def launches(options: argparse.Namespace) -> int:
    from blockscope.cli.launch_files import say_what_is_in

    _end_with_reader()
    script = launches_of(options.file, options.launch_number)
    return say_what_is_in(script.file, script.launches, has_source=options.source)


def step(options: argparse.Namespace) -> int:
    from blockscope.cli.step import step_through

    return step_through(prepared(options.script, options.launch_number), options.program)


def bench(options: argparse.Namespace) -> int:
    from blockscope.cli.bench import bench as bench_launches
    from blockscope.drop_in import install_as_triton

    script = launches_of(options.file, options.launch_number)
    install_as_triton()
    return bench_launches(script, options.seconds)


def reduce(options: argparse.Namespace) -> int:
    from blockscope.cli.reduce import checks_of, reduce_launch
    from blockscope.drop_in import install_as_triton

    own = own_project()
    names = checks_of(chosen_checks(options.checks, own), options.finding)
    if not options.output.endswith(".py"):
        raise UsageError(
            f"'{options.output}' is no name of a Python file, expected one such as small.py"
        )
    check_writable(options.output, is_python=True)
    script = launches_of(options.file, options.launch_number)
    install_as_triton()
    return reduce_launch(script, options.output, options, names, _flags(own))


def sweep(options: argparse.Namespace) -> int:
    from blockscope.drop_in import install_as_triton

    own = own_project()
    names = chosen_checks(options.checks, own)
    check_writable(options.html)
    check_writable(options.output)
    install_as_triton()
    from blockscope.cli.sweep import sweep as sweep_points

    return sweep_points(options, names, _flags(own))


def _unfiltered(own: Project) -> dict[str, Any]:
    """The project's options of checks, without its baseline: known findings are wanted, too."""
    return {name: value for name, value in own.options.items() if name != "baseline"}


def _flags(own: Project) -> dict[str, Any]:
    """Those that are options of ``check``, too: what is made small is found with any severity."""
    return {name: value for name, value in _unfiltered(own).items() if name != "severity"}


def same(options: argparse.Namespace) -> int:
    from blockscope.cli.same import compare_files

    return compare_files(options.one, options.other)


def doctor(options: argparse.Namespace) -> int:
    from blockscope.cli.doctor import report

    return report(sys.stdout)


def completion(options: argparse.Namespace) -> int:
    from blockscope.cli.completion import script

    print(script(options.shell))
    return 0


def check(options: argparse.Namespace) -> int:
    if options.watch:
        from blockscope.cli.watch import watch

        return watch(options)
    from blockscope.cli.check import check

    return check(options)


def triton_san(options: argparse.Namespace) -> int:
    from blockscope.cli.check import triton_san

    return triton_san(options)


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "run": run,
    "check": check,
    "trace": trace,
    "view": view,
    "explain": explain,
    "ir": ir,
    "compile": compile,
    "verify": verify,
    "record": record,
    "launches": launches,
    "step": step,
    "bench": bench,
    "reduce": reduce,
    "sweep": sweep,
    "same": same,
    "doctor": doctor,
    "completion": completion,
    "triton-san": triton_san,
}

__all__ = ["COMMANDS", "UsageError"]
