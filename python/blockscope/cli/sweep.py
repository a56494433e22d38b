"""``blockscope sweep run.blk --vary n=1..4096:64``: a launch at many points, each checked."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from blockscope.cli.launch_files import is_launch_file
from blockscope.cli.progress import ProgressLine, duration
from blockscope.cli.script import INTERRUPTED, flush, print_user_traceback
from blockscope.cli.usage import UsageError, no_file
from blockscope.errors import LaunchFileError
from blockscope.sweep.axes import spread
from blockscope.sweep.on_ray import RayError, results_on_ray
from blockscope.sweep.plan import Plan, Request
from blockscope.sweep.report import SweepReport
from blockscope.sweep.result import Result
from blockscope.sweep.results_file import ResultsFile, key_of


def sweep(options: argparse.Namespace, names: list[str], given: dict[str, Any]) -> int:
    """Run the points that are not known yet; gives the status."""
    request = request_of(options, names, given)
    try:
        plan = request.plan()
    except (ValueError, LaunchFileError) as error:
        raise UsageError(str(error)) from None
    except Exception:
        print_user_traceback()
        return 1
    identity = plan.identity()
    path = options.output or f"sweep-{identity[:8]}.jsonl"
    try:
        kept = ResultsFile(path, plan.asked(), plan.sources(), again=options.again)
    except ValueError as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"'{path}' cannot be written: {error.strerror}") from None
    begin = time.monotonic()
    wanted = {key_of(plan.point(index)): index for index in range(plan.count)}
    todo = [index for index in spread(plan.count) if not _is_known(plan, index, kept)]
    known = len(wanted) - len(todo)
    if known:
        print(
            f"{known} of {plan.count} points are in {path} already (--again runs them again)",
            file=sys.stderr,
        )
    ran, was_cut = _run(plan, todo, kept, options, begin)
    results = []
    for key, index in wanted.items():
        if (result := kept.known.get(key)) is not None:
            result.index = index  # the same point may have another place among others
            results.append(result)
    report = SweepReport(plan, results, time.monotonic() - begin, ran)
    _write(report, options)
    left = plan.count - len(results)
    if left:
        are = "1 point was" if left == 1 else f"{left} points were"
        again = " without --again" if options.again else ""
        print(
            f"{are} not run; the same command{again} goes on with {'it' if left == 1 else 'them'}",
            file=sys.stderr,
        )
    print(f"results: {path}", file=sys.stderr)
    if was_cut:
        return INTERRUPTED
    if any(result.is_error for result in results):
        return int(options.exit_code)
    return 1 if any(result.state == "failed" for result in results) else 0


def _is_known(plan: Plan, index: int, kept: ResultsFile) -> bool:
    """Whether a point has a result; that it took too long is one for no larger limit."""
    result = kept.known.get(key_of(plan.point(index)))
    if result is None:
        return False
    return result.state != "late" or result.seconds >= plan.request.seconds_of_point


def request_of(options: argparse.Namespace, names: list[str], given: dict[str, Any]) -> Request:
    """What the command line asks for. Errors: UsageError."""
    path, function = options.file, ""
    if not is_launch_file(path):
        path, _, function = path.rpartition(":")
        if not path or not function.isidentifier() or not path.endswith(".py"):
            raise UsageError(
                f"'{options.file}' is no launch file, expected one such as run.blk, or a function "
                "of a script: cases.py:launch"
            )
    if not os.path.isfile(path):
        raise no_file(path)
    formulas = {}
    for text in options.set or ():
        name, equals, formula = (part.strip() for part in text.partition("="))
        if not equals or not name or not formula:
            raise UsageError(f"--set {text} has no formula, expected one such as BLOCK=2*n")
        formulas[name] = formula
    return Request(
        path, function, options.launch_number, list(options.vary or ()), formulas, options.grid,
        list(options.keep or ()), options.fixed_sizes, names, given, options.point_seconds,
    )  # fmt: skip


def _run(
    plan: Plan, todo: Sequence[int], kept: ResultsFile, options: argparse.Namespace, begin: float
) -> tuple[int, bool]:
    """Run points until they end, the budget does, or somebody presses Ctrl-C; gives how many were
    run, and whether it was Ctrl-C."""
    line = ProgressLine()
    ran = bad = 0
    try:
        for result in _results(plan, todo[: options.limit], options):
            kept.add_sources(plan.sources())  # before the result, which may come of them
            kept.add(result)
            ran += 1
            bad += result.state != "passed"
            spent = time.monotonic() - begin
            rate = ran / max(spent, 1e-6)
            line.show(
                f"{ran} of {len(todo)} points, {rate:.0f}/s, {bad} did not pass, "
                f"{duration((len(todo) - ran) / rate)} left"
            )
            if options.stop_at_first and result.is_error:
                break
            if options.seconds is not None and spent > options.seconds:
                break
    except RayError as error:
        raise UsageError(str(error)) from None
    except KeyboardInterrupt:
        return ran, True
    finally:
        line.clear()
        kept.close()
    return ran, False


def _results(plan: Plan, todo: Sequence[int], options: argparse.Namespace) -> Iterator[Result]:
    if options.ray is None:
        return (plan.run(index) for index in todo)
    return results_on_ray(plan, todo, options.ray)


def _write(report: SweepReport, options: argparse.Namespace) -> None:
    if options.html is not None:
        from blockscope.sweep.page import page

        try:
            with open(options.html, "w", encoding="utf-8") as file:
                file.write(page(report))
        except OSError as error:
            raise UsageError(f"'{options.html}' cannot be written: {error.strerror}") from None
    if options.format == "json":
        print(json.dumps([result.as_json() for result in report.results], indent=2))
    else:
        print(report.text(shutil.get_terminal_size().columns), end="")
    flush()
