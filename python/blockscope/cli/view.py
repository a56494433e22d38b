"""``blockscope view``: traces, folders of them, launch files: in a window, a picture, a table."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from blockscope.cli.before_run import check_writable, chosen_checks, launches_of, own_project
from blockscope.cli.launch_files import is_launch_file
from blockscope.cli.usage import UsageError, no_file
from blockscope.cli.viewer import find_viewer

OPTIONS = ("png", "tensor", "program", "size", "launch", "op", "finding", "cell", "slice", "mode",
           "time", "window", "panel", "csv", "text_size", "colors", "difference_colors",
           "step")  # fmt: skip


def view(options: argparse.Namespace) -> int:
    """Records what is a launch file, then runs the viewer; gives its exit status."""
    if options.csv is not None and options.png is not None:
        raise UsageError("--csv and --png are two outputs, expected one of them")
    paths = _paths(options)
    check_writable(options.png)
    viewer = find_viewer()
    with ExitStack() as stack:
        if options.tour:
            tour, is_kept = _tour(stack)
            shown, paths = [tour], [tour] if is_kept else [""]
        else:
            shown = [_shown(path, options, stack) for path in paths]
        words = [viewer, *(["--compare"] if options.compare else []),
                 *(["--tour"] if options.tour else []), *shown]  # fmt: skip
        values = {name: getattr(options, name) for name in OPTIONS}
        values["launch"] = _launch(options, paths)
        for name, value in values.items():
            if value is not None:
                words += [f"--{name.replace('_', '-')}", str(value)]
        if options.log:
            words.append("--log")
        sys.stdout.flush()
        if shown == paths:  # nothing to be done behind it
            os.execv(words[0], words)
        return subprocess.run(words).returncode


def _paths(options: argparse.Namespace) -> list[str]:
    """What to look at: one path, or the two of ``--compare``.

    Errors: UsageError for what is not there, or cannot be shown so.
    """
    if options.compare is not None and options.trace is not None:
        raise UsageError(f"--compare takes two runs, found '{options.trace}' as well")
    paths = options.compare or ([options.trace] if options.trace is not None else [])
    if options.tour:
        if paths:
            raise UsageError(f"--tour has a trace of its own, found '{paths[0]}'")
        return []
    if not paths:
        raise UsageError("a trace, a launch file or a folder of traces is expected")
    for path in paths:
        if os.path.isdir(path):
            if options.compare:
                raise UsageError(f"'{path}' is a folder, expected a trace or a launch file")
        elif not os.path.isfile(path):
            raise no_file(path)
        elif path.endswith(".py"):
            raise UsageError(
                f"'{path}' is a script; record it first: blockscope trace {path} -o T.h5"
            )
    if options.checks is not None and not any(map(is_launch_file, paths)):
        raise UsageError("--checks is for launch files: a trace has its findings already")
    return list(paths)


def _launch(options: argparse.Namespace, paths: list[str]) -> int | None:
    """The launch to show, as the viewer counts. Of a launch file that is looked at alone only the
    named one is recorded; of two runs all are, for they are matched by their order.

    Errors: UsageError for a launch that the file has not.
    """
    number: int | None = options.launch
    if number is None or not is_launch_file(paths[0]):
        return number
    if not options.compare:
        return None
    (launch,) = launches_of(paths[0], number).launches
    numbers = [each.number for each in launches_of(paths[0], None).launches]
    return numbers.index(launch.number)


def _tour(stack: ExitStack) -> tuple[str, bool]:
    from blockscope.cli.tour import trace_of_tour

    return trace_of_tour(stack)


def _shown(path: str, options: argparse.Namespace, stack: ExitStack) -> str:
    """The trace to show for a path: for a launch file a new one, with the name that it has, so
    that the viewer and what it saves are called like it."""
    if os.path.isdir(path) or not is_launch_file(path):
        return path
    root = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
    whole = os.path.abspath(path)
    folder = os.path.join(root, os.path.basename(os.path.dirname(whole)) or "root")
    os.mkdir(folder)
    output = os.path.join(folder, os.path.basename(whole))
    _record(path, output, None if options.compare else options.launch, options.checks)
    return output


def _record(path: str, output: str, launch: int | None, checks: str | None) -> None:
    """As ``blockscope trace run.blk`` does. What the kernels print goes to stderr: a table may be
    wanted on stdout.

    Errors: UsageError.
    """
    from blockscope.cli.traced import record
    from blockscope.drop_in import install_as_triton

    own = own_project()
    names = [] if checks == "none" else chosen_checks(checks, own)
    script = launches_of(path, launch)
    install_as_triton()
    unfiltered = {name: value for name, value in own.options.items() if name != "baseline"}
    try:
        with _stdout_as_stderr():
            recorded = record(script, output, names, unfiltered)
    finally:
        script.close()
    if recorded.launches == 0:
        raise UsageError(f"no launch of '{path}' could be recorded, so there is nothing to show")
    print(f"recorded {recorded.summary()} of {path}", file=sys.stderr, flush=True)


@contextmanager
def _stdout_as_stderr() -> Iterator[None]:
    sys.stdout.flush()
    before = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(before, 1)
        os.close(before)
